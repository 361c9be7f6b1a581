"""What a model costs: capacity units, requests, storage and money, before there is a table."""
