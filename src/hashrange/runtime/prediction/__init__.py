"""Replays loads through the meter, with a simulated clock.

`reading` reads traces, `loads` makes the events of described loads, `attempts` removes repeated
attempts of a request, and `scenarios` changes tables. `replay` has one meter and its tables,
`provisioning` finds the smallest capacity, `sensitivity` varies constants that nobody outside
DynamoDB knows, and `proof` compares a replay with the recording. Only `metering.meter` decides
whether a request is admitted.
"""
