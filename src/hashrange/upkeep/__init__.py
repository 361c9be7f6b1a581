"""Upkeep in the background, and the search for damage."""
