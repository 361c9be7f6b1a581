"""Connects operations to storage: clock, catalog cache, the loops that drive decisions, commits."""
