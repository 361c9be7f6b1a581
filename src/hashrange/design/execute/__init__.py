"""Running an open store: requests, pages, writes, transactions, and the connections they use."""
