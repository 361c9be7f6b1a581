"""`hashrange predict`: descriptions of loads, scenarios as text, reports and pictures."""
