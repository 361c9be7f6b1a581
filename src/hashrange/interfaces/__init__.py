"""Ways in: the server, boto3 without a socket, the pytest plugin, the command line."""
