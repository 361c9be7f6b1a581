"""One file per API operation, read from top to bottom: parse, decide, respond.

`OPERATIONS` is the registry: by API name, what the runtime needs to know to run one.
"""
