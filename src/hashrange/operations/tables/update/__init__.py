"""UpdateTable, with a file for each kind of change."""
