"""Triggers call functions with the records of streams, as event source mappings do on AWS.

`serve --trigger` starts them; templates cannot.
"""
