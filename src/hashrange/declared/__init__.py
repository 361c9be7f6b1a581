"""Tables as files declare them: templates, plans and models that were written for other tools.

`reading.read` recognises the file, and gives descriptions from which the tables can be created,
with a remark for each part that is left out. `creating` creates those that a database lacks.
"""
