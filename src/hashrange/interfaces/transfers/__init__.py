"""Work with the world outside a database, in the background: a worker for each kind of it.

`kinesis` sends the changes of tables to Kinesis data streams. `importing` does the jobs of
ImportTable with `reading`, from the buckets of `buckets`.
"""
