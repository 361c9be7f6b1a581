"""Which key or index serves each access pattern, or why none does."""
