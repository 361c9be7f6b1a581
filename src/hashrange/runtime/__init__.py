"""Runs operations on a store: the clock, the catalog cache, the loops that drive decisions, and
commits."""
