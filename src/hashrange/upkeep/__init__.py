"""Scheduled work, and the search for damage."""
