"""Measures the units of requests, and admits requests if throughput is enforced.

`buckets` holds credit over time, `meter` answers and charges, `heat` finds partitions to split and
`growth` tables on demand whose peak has risen. All of it is a function of the clock and of the
requests, and none of it is stored: each process measures its own requests.
"""
