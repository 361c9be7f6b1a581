"""Moves items between tables, and between tables and files.

An item is passed on as the bytes of its DynamoDB JSON, `{"pk":{"S":"x"}}`, so an item of a table
need not be decoded to be written to a file or to another table. A command catches `DataError`,
whose message is one line for the user.
"""
