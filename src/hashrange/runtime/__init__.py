"""Joins operations to storage: clock, catalog cache, the loops that drive a decision, commits."""
