"""Applies to all tests. No test asserts a time, so generated examples have no deadline either."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

pytest_plugins = ["hashrange.testing.postgres_fixtures"]
