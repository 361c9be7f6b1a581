"""Citus: what a cluster of PostgreSQL machines needs in addition to one PostgreSQL database."""
