"""Eventual consistency: reads that are answered from a little while ago.

`history` remembers what rows held before they were overwritten, and `lagging` lays that over the
snapshot that a read is answered from. No operation and no store knows of it.
"""
