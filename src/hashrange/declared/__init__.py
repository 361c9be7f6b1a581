"""Tables that are declared in files: templates, plans and models written for other tools.

`reading.read` recognises a file, and returns descriptions from which its tables can be created,
with a remark for each part that is left out. `creating` creates the tables that a database lacks.
"""
