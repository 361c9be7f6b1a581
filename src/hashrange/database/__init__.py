"""Databases: opening them by their addresses, and what a program does with one.

connecting   gives a runtime its store: the composition root
database     operations by name, with dicts in wire form, and the threads beside the requests
addresses    what the name of a database says: a file, a server, PostgreSQL or AWS
access_file  who may do what, read from a file
states       states of a database in memory, to which a test goes back
"""
