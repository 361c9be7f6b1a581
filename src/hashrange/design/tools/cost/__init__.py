"""The cost of a model before there is a table: capacity units, requests, storage and money."""
