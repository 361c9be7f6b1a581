"""The change log of a table: every change of an item, in order, and the streams that read it.

records      records of changes: appended by writes, read in order, trimmed
sequencer    the order of a slot's records, and their times and numbers
shards       the division of a stream's records into shards
streams      lookup of streams, and the pages of GetRecords
views        the records as a stream shows them
checkpoints  the stored positions of a stream's readers
feeds        the records that are sent to Kinesis
"""
