"""Runs operations on a store: the clock, the catalog cache, and the loops that advance
decisions."""
