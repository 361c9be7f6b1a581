"""Eventual consistency: reads that are answered with slightly older values.

`history` keeps the old values of overwritten rows. `lagging` lays them over the snapshot that
answers a read. Operations and stores do not know of this.
"""
