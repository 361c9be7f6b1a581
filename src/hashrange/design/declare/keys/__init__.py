"""The keys of items and indexes: templates of fields, and how their texts are ordered."""
