"""The log of changes that streams are read from."""
