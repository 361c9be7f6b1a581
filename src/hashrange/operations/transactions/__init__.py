"""TransactGetItems and TransactWriteItems, and what ExecuteTransaction shares with them."""
