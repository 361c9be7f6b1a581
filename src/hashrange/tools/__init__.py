"""The programs that people run: commands, the shell, the console, and the transfer of data."""
