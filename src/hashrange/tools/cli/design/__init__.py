"""hashrange design: one module for each command that has options of its own."""
