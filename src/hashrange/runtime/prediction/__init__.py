"""Replays loads through the meter, under a clock of their own.

`reading` reads traces, `loads` makes the events of described loads, `attempts` keeps what an open
loop would send, `scenarios` changes tables, `replay` has one meter and its tables, `provisioning`
looks for the smallest capacity, `sensitivity` varies what nobody outside DynamoDB knows, and
`proof` compares a replay with what was recorded. `runtime.meter` alone decides what is admitted.
"""
