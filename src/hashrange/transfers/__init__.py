"""Background work with services outside the database: one worker for each kind of work.

`kinesis` sends the changes of tables to Kinesis data streams. `importing`, `bulk_puts` and
`exporting` do the jobs of ImportTable, StartBulkPutItems and ExportTableToPointInTime, with the
buckets of `buckets`. `loading` has what `importing` and `bulk_puts` share, and reads objects
through `reading`.
"""
