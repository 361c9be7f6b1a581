"""File formats for items, with one module for each format."""
