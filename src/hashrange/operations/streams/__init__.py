"""Operations of DynamoDB Streams."""
