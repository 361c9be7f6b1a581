"""UpdateTable, a file for each kind of change."""
