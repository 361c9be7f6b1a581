"""The declarations of a model: items, keys, indexes, access patterns, and volumes."""
