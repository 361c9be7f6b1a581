"""Tests a model on generated items, against an oracle that is independent of the model's plans."""
