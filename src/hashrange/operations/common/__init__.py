"""Shared by all operations: parsing request bodies, checking inputs, building responses."""
