"""Pictures of a model, as SVG: its table and indexes, its entities and its access patterns."""
