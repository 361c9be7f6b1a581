"""The only place that builds keys and values of rows. The bytes are shown in docs/keyspace.md.

keys     the key of a row: partition digest and sort bytes
bounds   one function per kind of bound of a Query or Scan
rows     the value of a row: checksum, weight, raw key, item
system   names of counters, and keys of the rows that the engine keeps for itself
"""
