"""Testing a model on generated items against an oracle that shares nothing with its plans."""
