"""DynamoDB's concepts: values, tables, errors, limits. Pure data and pure functions."""
