"""Models as Python source: what is known of a table, written as a module."""
