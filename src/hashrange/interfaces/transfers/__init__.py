"""Work with the world outside a database, in the background: a worker for each kind of it.

`kinesis` sends the changes of tables to Kinesis data streams. `importing` does the jobs of
ImportTable with `reading`, and `exporting` those of ExportTableToPointInTime, with the buckets of
`buckets`.
"""
