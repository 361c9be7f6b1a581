"""TransactGetItems and TransactWriteItems, and the code that ExecuteTransaction shares with
them."""
