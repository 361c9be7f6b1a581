"""Eventual consistency: reads that are answered with slightly older values.

`history` remembers the values of rows before they were overwritten, and `lagging` lays them over
the snapshot that a read is answered from. Operations and stores do not know of this.
"""
