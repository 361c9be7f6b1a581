"""The runtime over an asynchronous store, which works on one event loop.

runtime        operations by name, in the place of `runtime.Runtime`
reads          requests that only read, answered in groups
queued_reads   one such request, and the loop that advances a group of them
writes         requests that write, decided and committed in batches, several at once
tickets        which requests must wait for each other
backlog        how many requests may wait, and for how long
propagator     changes on their way to global indexes
slices         a turn of the event loop for each large answer
drive          the loops that advance batches
threads        the store and its loop, for callers in threads
"""
