"""Maintainers of indexes: what a change of an item does to each kind of index."""
