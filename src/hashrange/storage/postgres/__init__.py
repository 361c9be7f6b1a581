"""A store for many servers: see `hashrange.storage.postgres.store`."""

from hashrange.storage.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
