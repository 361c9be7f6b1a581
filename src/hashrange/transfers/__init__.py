"""Background work with services outside the database: one worker for each kind of work.

`kinesis` sends the changes of tables to Kinesis data streams. `importing`, `bulk_puts` and
`exporting` run the jobs of ImportTable, StartBulkPutItems and ExportTableToPointInTime, with the
buckets that `buckets` opens. `importing` and `bulk_puts` share the code in `loading`, which reads
objects through `reading`.
"""
