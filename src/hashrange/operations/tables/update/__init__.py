"""UpdateTable, with one file for each kind of change."""
