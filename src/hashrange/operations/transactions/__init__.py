"""TransactGetItems and TransactWriteItems."""
