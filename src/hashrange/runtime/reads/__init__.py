"""Requests that only read, over a synchronous store.

reads     answers them, from any thread or on event loops
snapshot  a snapshot of the store, as one request after the other reads it
queue     how many long reads run at once, and which comes next
"""
