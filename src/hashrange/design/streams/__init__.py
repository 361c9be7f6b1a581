"""Stored changes as typed items: handlers, and the readers of a table's stream that call them."""
