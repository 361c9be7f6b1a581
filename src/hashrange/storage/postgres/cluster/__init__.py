"""Citus: what a cluster of PostgreSQL machines has beside one PostgreSQL database."""
