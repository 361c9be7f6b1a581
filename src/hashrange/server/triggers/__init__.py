"""Triggers call functions with the records of streams, as event source mappings do on AWS.

They are declared only by `serve --trigger`, not in templates.
"""
