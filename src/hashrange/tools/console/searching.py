"""A read that goes on until a page is full of items, its end is reached, or its time is spent.

A filter that few items pass would leave most pages of a Scan empty. A search therefore asks again
until it has the items that a page shows. It stops after `SECONDS`; the browser then shows what
there is and asks for the next round, so that a long search shows progress and can be stopped.
The addresses of rounds carry all that a search knows, and the console keeps nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hashrange.tools.console.shapes import Item
from hashrange.tools.console.visits import Mistake, Visit

SECONDS = 0.12
"""After which a round begins no other request."""

STEP_MAX = 2_000
"""How many items a request reads at most."""


@dataclass(frozen=True)
class Portion:
    """What one request returned, after it had read so many. `next` is None at the end."""

    items: list[Item]
    read: int
    units: float
    next: str | None


@dataclass(frozen=True)
class Search:
    """`items` are those of the last round; `read`, `found` and `units` count all rounds."""

    limit: int
    read: int
    found: int
    units: float
    after: str | None
    """Where to go on; None at the end, and at the beginning."""
    step: int
    """How many items the next request reads."""
    start: str = ""
    """Where the page begins; empty at the beginning of all items."""
    before: int = 0
    """How many items earlier pages have read."""
    items: tuple[Item, ...] = ()

    @classmethod
    def of(cls, visit: Visit, limit: int) -> "Search":
        """The search that an address goes on with, or a new one."""
        try:
            units = float(visit.parameters.get("units") or 0)
        except ValueError:
            units = -1.0
        if not 0 <= units < 1e15:
            raise Mistake("units: this is not a number of read units")
        read, found = (visit.number(name, 0, 0, 10**15) for name in ("read", "found"))
        step = visit.number("step", limit, 1, STEP_MAX)
        after = visit.parameters.get("after", "")
        start = visit.parameters.get("start", after)
        before = visit.number("before", read, 0, 10**15)
        return cls(limit, read, found, units, after or None, step, start, before)

    @property
    def goes_on(self) -> bool:
        """Whether the page has room, and more can be read."""
        return self.after is not None and self.found < self.limit

    @property
    def seen(self) -> dict[str, str]:
        """The parameters that name what the page has read."""
        return {"after": self.start, "count": str(self.read - self.before)}

    @property
    def complete(self) -> bool:
        """Whether this round is the whole page."""
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
    """One round. `read` sends a request for at most so many items, from a place on.

    While nothing is found, requests become larger. If a large one finds more than the page has
    room for, a smaller one is sent in its place.
    """
    start = time.monotonic()
    while True:
        room = search.limit - search.found
        portion = read(search.step, search.after)
        units = search.units + portion.units
        if len(portion.items) > room and search.step > room:
            search = replace(search, units=units, step=room)
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
