"""What requests consume, and, if throughput is enforced, which of them are admitted.

`buckets` holds credit over time, `meter` answers and charges, `heat` finds partitions to split and
`growth` tables on demand whose peak has risen. All of it is a function of the clock and of the
requests, and none of it is stored: each process measures its own requests.
"""
