"""Changing the model of a table while programs use it: see `docs/how-to/change-a-model.md`."""
