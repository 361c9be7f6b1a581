"""What DynamoDB speaks of: values, tables, errors, limits. Pure data and pure functions."""
