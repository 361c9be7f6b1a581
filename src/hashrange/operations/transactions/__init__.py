"""TransactGetItems and TransactWriteItems, and code that they share with ExecuteTransaction."""
