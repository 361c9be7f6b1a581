"""The values of an attribute with their counts, among the items that were read."""

from collections import Counter
from typing import Any

from starlette.responses import Response

from hashrange.tools.console import builder
from hashrange.tools.console.pages.items import named
from hashrange.tools.console.search_round import reading
from hashrange.tools.console.searching import Search, search
from hashrange.tools.console.shapes import Item
from hashrange.tools.console.values import dumps, item_of
from hashrange.tools.console.visits import Mistake, Page, Route, Visit
from hashrange.tools.console.ways import Ways

VALUES_MAX = 1_000
"""The largest number of values with a count of their own in a round of the search. All other
values are counted together."""

FOUND_MAX = 10**12
"""A limit of found items that no search reaches, so that each search reads all items."""


def show(visit: Visit) -> Response:
    """One round of a search. The page adds its counts to the counts of earlier rounds."""
    shape = visit.console.table(visit.path["table"])
    source = named(visit, shape)
    name = visit.parameters.get("of", "")
    if not name:
        raise Mistake("Name the attribute whose values are to be counted.")
    request = builder.request_of(visit, shape, source, FOUND_MAX)
    done = search(reading(visit.console, request), Search.of(visit, FOUND_MAX))
    counted = _counted(done.items, name)
    ways = Ways(visit, shape, source)
    values = [(item_of(text)[""], text, count) for text, count in counted.most_common(VALUES_MAX)]
    context: dict[str, Any] = {
        "shape": shape,
        "source": source,
        "name": name,
        "search": done,
        "of": source.items if request.operation == "Scan" else None,
        "rows": [(value, text, count, ways.alike(name, value)) for value, text, count in values],
        "others": sum(counted.values()) - sum(count for _, _, count in values),
        "absent": sum(name not in item for item in done.items),
        "filters": builder.filters_of(visit),
    }
    rounds = visit.partial and visit.parameters.get("round")
    return visit.page("facets_round.html" if rounds else "facets.html", **context)


def _counted(items: tuple[Item, ...], name: str) -> Counter[str]:
    """The number of items that have each value of the attribute.

    Equal sets are counted together only if the database returns their members in the same order.
    hashrange does.
    """
    return Counter(dumps({"": item[name]}) for item in items if name in item)


PATH = "/table/{table}/values"
PAGE = Page("", PATH, (Route(PATH, show),))
