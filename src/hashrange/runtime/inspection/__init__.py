"""Tells users about their tables and requests.

inspect       the contents and the load of tables: `hashrange inspect`
explain       the consumption of a request, without running it: `hashrange explain`
capacities    provisioned capacity, builds of indexes and their lag, for metrics
named_tables  the tables that a request names, for metrics of failed requests
"""
