"""boto3 and aiobotocore clients of a database in this process, and a JSON interface to it."""
