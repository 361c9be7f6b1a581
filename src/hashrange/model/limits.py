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
"""The attribute itself is level 1. [SQ, seen]"""
ITEM_BYTES_MAX = 400 * KB
"""Names and values together. In a table with local indexes, the item and its entries in these
indexes count together. [SQ]"""
ATTRIBUTE_NAME_BYTES_MAX = 64 * KB - 1
PARTITION_KEY_BYTES_MAX = 2048
SORT_KEY_BYTES_MAX = 1024
"""The sum over all sort key attributes. [SQ, seen]"""

# ---- expressions [SQ] ----
EXPRESSION_BYTES_MAX = 4 * KB
EXPRESSION_OPERATORS_MAX = 300
IN_OPERANDS_MAX = 100
PLACEHOLDER_BYTES_MAX = 255
SUBSTITUTIONS_BYTES_MAX = 2 * MB
LIST_INDEX_MAX = 2**31 - 1
"""In a document path. [seen]"""

# ---- tables and indexes [SQ] ----
LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
KEY_ATTRIBUTES_MAX = 2
"""For a table and for a local index. [M, seen]"""
GLOBAL_KEY_ATTRIBUTES_MAX = 4
"""For a global index, HASH and RANGE counted separately. [seen]"""
PROJECTED_NAMES_MAX = 100
"""Names in INCLUDE lists, summed over all indexes of a table. [SQ]"""
TABLE_READ_UNITS_MAX = 40_000
"""For a table, and for each index by itself. [SQ, seen]"""
TABLE_WRITE_UNITS_MAX = 40_000
ACCOUNT_READ_UNITS_MAX = 80_000
ACCOUNT_WRITE_UNITS_MAX = 80_000
ON_DEMAND_READ_UNITS_START = 12_000
"""Warm throughput of a new on-demand table."""
ON_DEMAND_WRITE_UNITS_START = 4_000
ON_DEMAND_UNITS_CLEARED = -1
"""If a maximum is set to this value, there is no maximum any more. [M]"""
CAPACITY_UNITS_BOUND = 10**12
"""No capacity may exceed this, even with a higher maximum. [seen]"""
DAY_SECONDS = 24 * 60 * 60
FREE_DECREASES_PER_DAY = 4
"""Decreases of provisioned throughput in a UTC day that need no pause. [SQ, seen]"""
DECREASE_PAUSE_SECONDS = 3600
"""The pause before each of the day's later decreases. [SQ, seen]"""
ON_DEMAND_SWITCHES_PER_DAY = 4
"""Switches to on demand within 24 hours; a table created on demand has switched once. [seen]"""
TAGS_MAX = 50

# ---- requests ----
PAGE_BYTES_MAX = 1 * MB
"""The data that one Query or Scan evaluates before filtering, including the item that crosses the
limit: a full page of small items consumes 128.5 units, half a unit more than 1 MB. [SQ, seen]"""
BATCH_GET_KEYS_MAX = 100
BATCH_GET_BYTES_MAX = 16 * MB
BATCH_WRITE_REQUESTS_MAX = 25
TRANSACTION_BYTES_MAX = 4 * MB
"""The parameters of TransactWriteItems, and the items that TransactGetItems reads."""
TRANSACTION_STORED_BYTES_MAX = 16 * MB
"""The stored items that a transaction changes or checks. The service has no such limit [seen]."""
TRANSACTION_TOKEN_SECONDS = 600
LIST_TABLES_MAX = 100
LIST_INSIGHTS_MAX = 100

# ---- capacity [CU] ----
READ_UNIT_BYTES = 4 * KB
WRITE_UNIT_BYTES = 1 * KB
PARTITION_BYTES_MAX = 10 * 1024 * 1024 * 1024
ITEM_COLLECTION_BYTES_MAX = 10 * 1024 * MB
"""Items and local index entries of one partition key value, in a table with local indexes."""

# ---- sizes of values [CU] ----
CONTAINER_BYTES = 3
"""Overhead of a list or map."""
CONTAINER_MEMBER_BYTES = 1
"""Overhead of each element, or pair, of a list or map."""
SET_BYTES = 0
"""Overhead of a set. It is assumed: the documentation gives none."""

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
"""The smallest charge for a write of an entry, or for a search."""
SEARCHED_BYTES_PER_DIMENSION = 17.6
"""What the service charges for a search of one item. This is an estimate: the charge varies between
equal searches."""
SEARCH_ANSWER_BYTES_MAX = 16 * MB
TOP_K_MAX = 100
"""The service model has no upper bound."""
