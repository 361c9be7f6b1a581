"""What an open store does: it sends the requests of patterns and writes over a connection."""
