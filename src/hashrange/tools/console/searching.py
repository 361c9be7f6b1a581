"""A read that continues until a page is full, the end is reached, or its time is up.

If a filter matches few items, most pages of a Scan would be empty. So a search continues to read
until it has enough items for a page, or `SECONDS` have passed. Then the browser shows the items
found so far, and requests the next round. So a long search shows progress and can be stopped. The
URL of a round contains the whole state of the search; the console keeps none.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hashrange.tools.console.shapes import Item
from hashrange.tools.console.visits import Mistake, Visit

SECONDS = 0.12
"""The time after which a round of a search sends no further request."""

STEP_MAX = 2_000
"""The largest number of items that a request reads."""


@dataclass(frozen=True)
class Portion:
    """The items that one request returned, and the number that it read. `next` is None at the
    end."""

    items: list[Item]
    read: int
    units: float
    next: str | None


@dataclass(frozen=True)
class Search:
    """The state of a search. `items` are those of the last round; `read`, `found` and `units` are
    totals of all rounds."""

    limit: int
    read: int
    found: int
    units: float
    after: str | None
    """The position to continue from; None at the end, and at the beginning."""
    step: int
    """The number of items that the next request reads."""
    start: str = ""
    """The position of the page's first item; empty at the beginning of all items."""
    before: int = 0
    """The number of items that earlier pages have read."""
    items: tuple[Item, ...] = ()

    @classmethod
    def of(cls, visit: Visit, limit: int) -> "Search":
        """The search that a URL continues, or a new search."""
        try:
            units = float(visit.parameters.get("units") or 0)
        except ValueError:
            units = -1.0
        if not 0 <= units < 1e15:
            raise Mistake("units: must be a number of read units")
        read, found = (visit.number(name, 0, 0, 10**15) for name in ("read", "found"))
        step = visit.number("step", limit, 1, STEP_MAX)
        after = visit.parameters.get("after", "")
        start = visit.parameters.get("start", after)
        before = visit.number("before", read, 0, 10**15)
        return cls(limit, read, found, units, after or None, step, start, before)

    @property
    def goes_on(self) -> bool:
        """Whether the page is not full yet, and more can be read."""
        return self.after is not None and self.found < self.limit

    @property
    def seen(self) -> dict[str, str]:
        """The parameters that describe the items read for this page: their number, and the position
        before the first of them."""
        return {"after": self.start, "count": str(self.read - self.before)}

    @property
    def complete(self) -> bool:
        """Whether the page consists of this round alone."""
        return not self.goes_on and self.found == len(self.items)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the next round."""
        return {
            "after": self.after or "",
            "read": str(self.read),
            "found": str(self.found),
            "units": f"{self.units:g}",
            "step": str(self.step),
            "start": self.start,
            "before": str(self.before),
        }


def search(
    read: Callable[[int, str | None], Portion],
    search: Search,
    seconds: float = SECONDS,
) -> Search:
    """Make one round. `read` sends a request for a limited number of items, starting at a position.

    While nothing is found, requests become larger. If a large request finds more items than fit on
    the page, it is repeated with a smaller limit.
    """
    start = time.monotonic()
    while True:
        wanted = search.limit - search.found
        portion = read(search.step, search.after)
        units = search.units + portion.units
        if len(portion.items) > wanted and search.step > wanted:
            search = replace(search, units=units, step=wanted)
            continue
        search = replace(
            search,
            read=search.read + portion.read,
            found=search.found + len(portion.items),
            units=units,
            after=portion.next,
            step=min(search.limit if portion.items else search.step * 4, STEP_MAX),
            items=search.items + tuple(portion.items),
        )
        if not search.goes_on or time.monotonic() - start > seconds:
            return search
