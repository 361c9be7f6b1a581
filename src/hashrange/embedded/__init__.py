"""hashrange in another program: the mock, the pytest plugin and its clock, a server in a thread."""
