"""Imports from and exports to an object store. The work is done in the background, in steps."""
