"""Eventual consistency: reads that are answered with values of a moment ago.

`history` remembers the values of rows before they were overwritten, and `lagging` lays them over
the snapshot that a read is answered from. No operation and no store knows of it.
"""
