"""boto3 and aiobotocore clients of a database in this process, and calls with JSON bodies."""
