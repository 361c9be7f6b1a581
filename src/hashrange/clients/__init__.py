"""boto3 and aiobotocore in this process, and JSON in and out for programs of ours."""
