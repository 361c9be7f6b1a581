"""Replays loads through the meter, with a simulated clock.

`reading` reads traces, `loads` makes the events of described loads, `attempts` leaves out repeated
attempts of a request, `scenarios` changes tables, `replay` has one meter and its tables,
`provisioning` looks for the smallest capacity, `sensitivity` varies constants that nobody outside
DynamoDB knows, and `proof` compares a replay with the recording. Only `metering.meter` decides what
is admitted.
"""
