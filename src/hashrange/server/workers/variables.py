"""Environment variables of a server."""

PREFIX = "HASHRANGE_"
"""The prefix of their names. Other programs' child processes do not inherit them: some are
secret."""
