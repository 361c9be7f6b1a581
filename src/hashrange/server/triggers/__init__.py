"""Triggers call functions with the records of streams, as event source mappings do on AWS.

`serve --trigger` declares them; they cannot be declared in templates.
"""
