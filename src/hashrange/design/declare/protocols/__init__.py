"""What a store looks like to a type checker: its methods, queries and transactions."""
