"""Moves items between tables, and between tables and files.

An item is passed on as the bytes of its DynamoDB JSON, `{"pk":{"S":"x"}}`, so that it can be copied
without decoding it. A command catches `DataError`, whose message is one line for the user.
"""
