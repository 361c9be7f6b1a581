"""Imports from and exports to an object store. They run in the background, in steps."""
