"""The partitions of a table and its global indexes as rings: content, heat, hot keys, throttles."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from hashrange.tools.console.console import Console
from hashrange.tools.console.rings import Ring, ring
from hashrange.tools.console.values import typed
from hashrange.tools.console.visits import Mistake, Page, Route, Visit
from hashrange.tools.predict.inspected import lapse
from hashrange.tools.predict.lapse import image

PARTITIONS_SHOWN = 64
KEYS_SHOWN = 5


def show(visit: Visit) -> Response:
    return visit.page("partitions.html", **_found(visit))


def now(visit: Visit) -> Response:
    """The part of the page that the browser requests repeatedly."""
    return visit.page("partitions_now.html", **_found(visit))


def _found(visit: Visit) -> dict[str, Any]:
    name = visit.path["table"]
    assert visit.console.inspect
    shape = visit.console.table(name)
    tables = visit.console.inspect(name)
    if not tables:
        raise Mistake(f"There is no table {name}.", 404)
    [table] = tables
    sources = [("Table", table)]
    sources += [(index["name"], index) for index in table["indexes"] if "partitions" in index]
    return {"shape": shape, "sources": [_source(title, source) for title, source in sources]}


def _source(title: str, source: Mapping[str, Any]) -> dict[str, Any]:
    load = source.get("load")
    partitions = [_heated(each) for each in source["partitions"]]
    most = max((each["units"] for each in partitions), default=0)
    laid_out: Ring = ring(source)
    return {
        "title": title,
        "items": source["items"],
        "bytes": source["bytes"],
        "ring": laid_out,
        "hottest": most and next(p["number"] for p in partitions if p["units"] == most),
        "measured": load is not None,
        "divided": any(each["first"] for each in partitions),
        "lapse": image("Partitions", lapse(title, source)),
        "enforced": any("write_credit" in each for each in partitions),
        "most": most,
        "partitions": partitions[:PARTITIONS_SHOWN],
        "more": len(partitions) - len(partitions[:PARTITIONS_SHOWN]),
        "throttled": load["throttled"] if load else {},
        "accessed": _keys(load, "accessed"),
        "throttled_keys": _keys(load, "throttled_keys"),
    }


def _heated(partition: Mapping[str, Any]) -> dict[str, Any]:
    units = partition.get("read_units", 0) + partition.get("write_units", 0)
    return {**partition, "units": units, "first": _typed(partition.get("from_key") or {})}


def _typed(key: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a key in boto3's form."""
    return {name: typed(value, name) for name, value in key.items()}


def _keys(load: Mapping[str, Any] | None, kind: str) -> list[dict[str, Any]]:
    """The hottest partition keys, with their counts. `kind` is a list in `load`, such as
    `accessed`."""
    keys = load[kind]["partition_keys"][:KEYS_SHOWN] if load else []
    return [{"key": _typed(each["key"]), "count": each["count"]} for each in keys]


def _shown(console: Console) -> bool:
    return console.inspect is not None


PATH = "/table/{table}/partitions"
PAGE = Page("Partitions", PATH, (Route(PATH, show), Route(PATH + "/now", now)), _shown)
