"""hashrange beside other implementations of DynamoDB: `make bench`, or `python -m benchmarks`."""
