"""What people run: commands, the shell, the console, and what moves data."""
