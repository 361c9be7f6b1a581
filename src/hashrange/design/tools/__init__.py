"""Tools for a model: they create its table, check and test it, and compute costs and
differences."""
