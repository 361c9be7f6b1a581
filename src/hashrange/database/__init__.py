"""Databases: how to open one by its address, and the operations on it.

connecting   opens a store and makes a database of it: the composition root
database     operations by name, with dicts in wire form, and the background threads
addresses    the kinds of address of a database: a file, a server, PostgreSQL or AWS
access_file  who may do what, read from a file
states       states of a database in memory, which a test can restore
"""
