"""Help for tests, published for users: a clock to set, a store that fails, the store suite.

`store_suite` needs pytest and hypothesis; nothing else here does.
"""

from hashrange.testing.clock import TestClock
from hashrange.testing.faulty import FaultyStore

__all__ = ["FaultyStore", "TestClock"]
