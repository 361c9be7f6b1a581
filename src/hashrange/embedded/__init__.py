"""hashrange inside a user's program: the mock, the pytest plugin, and a server in a thread."""
