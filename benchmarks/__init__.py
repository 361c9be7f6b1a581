"""Measures hashrange beside other implementations of DynamoDB: `make bench`."""
