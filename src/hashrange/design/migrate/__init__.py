"""Changes the model of a table while programs use it. See `docs/how-to/change-a-model.md`."""
