"""The designer's tools: create, lint, prove and sample."""
