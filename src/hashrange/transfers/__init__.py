"""Work with the world outside a database, in the background: a worker for each kind of it.

`kinesis` sends the changes of tables to Kinesis data streams. `importing`, `bulk_puts` and
`exporting` do the jobs of ImportTable, StartBulkPutItems and ExportTableToPointInTime with the
buckets of `buckets`. `loading` is what the first two share; it reads objects by `reading`.
"""
