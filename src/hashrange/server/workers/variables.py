"""Environment variables of a server."""

PREFIX = "HASHRANGE_"
"""How their names begin. Child processes of others do not inherit them: some hold secrets."""
