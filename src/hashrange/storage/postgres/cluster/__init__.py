"""Support for Citus, which distributes a PostgreSQL database over a cluster of machines."""
