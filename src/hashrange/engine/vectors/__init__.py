"""Vector indexes: their rows, and the search for the nearest rows.

written     checks of the attributes that a write gives to an item
entries     the row of an item in an index, and the log of changed rows
sizes       the size of an item whose vectors are counted in their packed form
distances   the three distance functions, computed exactly
arrays      numpy, if it is installed, and exact sums with it
blocks      rows in memory, and a quick choice of candidates among them
views       all rows of one HASH value, or of a whole index, as of one moment
search      the nearest rows of a view, or of an index that is too large for a view
"""
