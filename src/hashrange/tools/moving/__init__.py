"""Moves items between tables and files: one module for each format, and those that transfer.

An item is passed on as the bytes of its DynamoDB JSON, `{"pk":{"S":"x"}}`, so an item of a table
need not be decoded to be written to a file or to another table. A writer of a format takes an
iterable of items and returns chunks of bytes; `formats` has them by name. A command catches
`DataError`, whose message is one line for the user.
"""
