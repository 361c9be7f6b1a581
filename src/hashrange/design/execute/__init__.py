"""Open stores: they send the requests of patterns and writes over a connection."""
