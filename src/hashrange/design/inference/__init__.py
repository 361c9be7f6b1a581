"""Finding the model of a table from its items: entities, templates, indexes and types."""
