"""DynamoDB's limits, each with its source. The limits of the service model are in `requests`.

Sources: [SQ] the developer guide's page of service quotas, [M] the service model, [CU] the guide's
page of capacity unit calculations, [seen] observed on the real service. A source in a heading
applies to its group. Comments mark uncertain limits. Units come last in a name.
"""

KB = 1024
MB = 1024 * KB

# ---- values [SQ] ----
NUMBER_DIGITS_MAX = 38
NUMBER_EXPONENT_MAX = 125
NUMBER_EXPONENT_MIN = -130
NESTING_LEVELS_MAX = 32
"""The deepest nesting of an attribute. The attribute itself is level 1. [SQ, seen]"""
ITEM_BYTES_MAX = 400 * KB
"""The largest size of an item, names and values together. In a table with local indexes, the item's
entries in these indexes are included. [SQ]"""
ATTRIBUTE_NAME_BYTES_MAX = 64 * KB - 1
PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024
"""The largest size of all sort key attributes together. [SQ, seen]"""

# ---- expressions [SQ] ----
EXPRESSION_BYTES_MAX = 4 * KB
EXPRESSION_OPERATORS_MAX = 300
IN_OPERANDS_MAX = 100
PLACEHOLDER_BYTES_MAX = 255
SUBSTITUTIONS_BYTES_MAX = 2 * MB
LIST_INDEX_MAX = 2**31 - 1
"""The largest list index in a document path. [seen]"""

# ---- tables and indexes [SQ] ----
LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
KEY_ATTRIBUTES_MAX = 2
"""The largest number of key attributes of a table or a local index. [M, seen]"""
GLOBAL_KEY_ATTRIBUTES_MAX = 4
"""The largest number of HASH attributes, and of RANGE attributes, of a global index. [seen]"""
PROJECTED_NAMES_MAX = 100
"""The largest number of names in the INCLUDE lists of all indexes of a table. [SQ]"""
TABLE_READ_UNITS_MAX = 40_000
"""The read limit of a table, and of each of its indexes separately. [SQ, seen]"""
TABLE_WRITE_UNITS_MAX = 40_000
ACCOUNT_READ_UNITS_MAX = 80_000
ACCOUNT_WRITE_UNITS_MAX = 80_000
ON_DEMAND_READ_UNITS_START = 12_000
"""The warm throughput of a new on-demand table for reads."""
ON_DEMAND_WRITE_UNITS_START = 4_000
ON_DEMAND_UNITS_CLEARED = -1
"""The value that removes a table's maximum for on-demand throughput. [M]"""
CAPACITY_UNITS_BOUND = 10**12
"""The largest number of capacity units, even if a higher maximum is configured. [seen]"""
DAY_SECONDS = 24 * 60 * 60
FREE_DECREASES_PER_DAY = 4
"""The number of throughput decreases in a UTC day that need no pause. [SQ, seen]"""
DECREASE_PAUSE_SECONDS = 3600
"""The pause before each further decrease of the day. [SQ, seen]"""
ON_DEMAND_SWITCHES_PER_DAY = 4
"""Switches to on demand within 24 hours. Creation as on demand counts as a switch. [seen]"""
TAGS_MAX = 50

# ---- requests ----
PAGE_BYTES_MAX = 1 * MB
"""The amount of data at which a Query or Scan ends its page. The item that crosses the limit
is read too, so a full page of small items consumes 128.5 units, not 128. [SQ, seen]"""
BATCH_GET_KEYS_MAX = 100
BATCH_GET_BYTES_MAX = 16 * MB
BATCH_WRITE_REQUESTS_MAX = 25
TRANSACTION_BYTES_MAX = 4 * MB
"""The limit for the parameters of TransactWriteItems, and for the items of TransactGetItems."""
TRANSACTION_STORED_BYTES_MAX = 16 * MB
"""The limit for stored items that a transaction changes or checks. DynamoDB has none. [seen]"""
TRANSACTION_TOKEN_SECONDS = 600
LIST_TABLES_MAX = 100
LIST_INSIGHTS_MAX = 100

# ---- capacity [CU] ----
READ_UNIT_BYTES = 4 * KB
WRITE_UNIT_BYTES = 1 * KB
PARTITION_BYTES_MAX = 10 * 1024 * 1024 * 1024
ITEM_COLLECTION_BYTES_MAX = 10 * 1024 * MB
"""The limit for an item collection, with its local index entries, if there are local indexes."""

# ---- sizes of values [CU] ----
CONTAINER_BYTES = 3
"""The overhead of a list or map."""
CONTAINER_MEMBER_BYTES = 1
"""The overhead of each element of a list, and of each pair of a map."""
SET_BYTES = 0
"""The overhead of a set. It is an assumption, because the documentation names none."""

# ---- streams and time to live [M, SQ] ----
LIST_STREAMS_MAX = 100
DESCRIBE_STREAM_SHARDS_MAX = 100
TTL_CHANGE_SECONDS = 31 * 60
"""The pause between two changes of a table's time to live. The documentation says an hour; the
service was seen to refuse a change after 1,811 seconds and to allow it after 1,872."""

# ---- vector indexes [VI] ----
VECTOR_INDEXES_MAX = 5
VECTOR_DIMENSIONS_MAX = 4096
SEARCH_HASH_ATTRIBUTES_MAX = 1
SEARCH_FILTER_ATTRIBUTES_MAX = 18
SEARCH_FILTER_BYTES_MAX = 10 * KB
VECTOR_REQUEST_BYTES_MIN = 1 * KB
"""The least number of bytes that are charged for a write of an entry, or for a search."""
SEARCHED_BYTES_PER_DIMENSION = 17.6
"""The bytes that are charged for each item that a search compares, per dimension. This is an
estimate, because the service's charges for equal searches differ."""
SEARCH_ANSWER_BYTES_MAX = 16 * MB
TOP_K_MAX = 100
"""The largest `TopK` of a search. The service model names no upper bound."""
