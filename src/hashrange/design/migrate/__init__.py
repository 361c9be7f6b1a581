"""Changing the model of a table while programs use it. `docs/how-to/change-a-model.md` shows it."""
