"""Helpers for your own tests: a clock that you set, a store that fails on demand, the store suite.

Only the store suite needs pytest and hypothesis.
"""

from hashrange.testing.clock import TestClock
from hashrange.testing.faulty import FaultyStore

__all__ = ["FaultyStore", "TestClock"]
