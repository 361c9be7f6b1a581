"""Databases: how to open one by its address, and the operations on it.

connecting   opens a store and creates the Database over it: the composition root
database     operations by name, with dicts in wire form, and the background threads
addresses    the kinds of addresses: a file, a server, PostgreSQL or AWS
access_file  reads from a file which principals there are, and what each may do
states       states of a database in memory, which a test can restore
"""
