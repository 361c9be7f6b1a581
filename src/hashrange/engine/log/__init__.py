"""The change log of a table: what was written, in order, for everybody who wants to know.

log          records: old and new image, cause, time; appended by writes, read back, trimmed
sequencer    the order of a slot's records, and the number that each bears
shards       how a stream's records part into shards
streams      streams by ARN, and their pages of the log
views        what a stream shows of a record
"""
