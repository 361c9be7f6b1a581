"""Measures the units of requests, and throttles requests if throughput is enforced.

`buckets` holds credit over time, `meter` admits and charges requests, `heat` finds partitions to
split, and `growth` finds on-demand tables whose peak has risen. The state depends only on the clock
and the requests, and none of it is stored: each process measures its own requests.
"""
