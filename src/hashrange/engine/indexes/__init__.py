"""Indexes. Each kind of index has a module, and only this module knows the content of its rows.

maintainer    the functions that each such module has
secondary     entries of global and local secondary indexes
expiry        time to live: a hidden index of the times of expiry
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
