"""The work that becomes due with time, and the search for damage."""
