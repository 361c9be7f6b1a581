"""Tools for a model: they create, check and test its table, and compute costs and differences."""
