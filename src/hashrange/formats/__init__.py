"""Items as bytes in files: one module for each format."""
