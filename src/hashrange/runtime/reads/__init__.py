"""Requests that only read, over a synchronous store.

reads     answers them, from any thread or on event loops
turn      the snapshot that the reads of one turn of an event loop share
snapshot  a snapshot of the store, and the answers of requests from it
long      reads that take longer than a slice of time
queue     how many long reads run at once, and which comes next
"""
