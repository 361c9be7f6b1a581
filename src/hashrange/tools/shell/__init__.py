"""The shell: PartiQL at a prompt, for every database that `tools.target` can open.

splitting    text -> statements and dot commands
execution    a statement -> pages of items, through boto3
values       an attribute value -> text that is safe on a terminal, JSON, CSV
tables       items -> a table as wide as the terminal
output       the destination of results, and the writers of the modes table, json and csv
faults       an error -> the statement with a caret, and advice (`advice`)
catalog      the tables as far as they are known: names, keys, attributes that were seen
schema       a table -> the text of `.schema` and `.indexes`
plans        `.explain`
completion   text before the cursor -> possible continuations
history      statements of earlier sessions
session      runs statements; `commands` has the dot commands
terminal     the prompt
"""
