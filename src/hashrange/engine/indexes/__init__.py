"""Indexes. Each kind of index has a module for its rows; no other code knows their content.

maintainer    the functions that each kind has
secondary     entries of global and local secondary indexes
expiry        time to live: a hidden index by expiry
vectors       rows of vector indexes
backfill      steps of building an index
propagation   global indexes that are updated from a log
"""

from hashrange.engine.indexes import expiry, secondary, vectors
from hashrange.engine.indexes.maintainer import Maintainer
from hashrange.model.tables import AnyIndex, Index, TimeToLive, VectorIndex

MAINTAINERS: dict[type[AnyIndex], Maintainer] = {
    Index: secondary,
    VectorIndex: vectors,
    TimeToLive: expiry,
}
"""The module of each kind of index, by the type of its definition."""
