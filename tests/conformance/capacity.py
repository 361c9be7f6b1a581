"""ConsumedCapacity as the tests of capacity write it: units per arm."""

from typing import Any

Arms = dict[str, float]

KB = 1024


def arms(consumed: dict[str, Any]) -> Arms:
    """ReturnConsumedCapacity=INDEXES as units per arm: `{"table": 1.0, "byOwner": 2.0}`.

    The table's arm is always there. Also checks that the arms add up to the total.
    """
    found = {"table": consumed["Table"]["CapacityUnits"]}
    for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
        for name, arm in consumed.get(kind, {}).items():
            found[name] = arm["CapacityUnits"]
    assert consumed["CapacityUnits"] == sum(found.values())
    return found


def filled(size: int, **more: Any) -> dict[str, Any]:
    """String attributes of an item of `size` bytes: those of `more`, and a filler."""
    used = sum(len(name) + len(text) for name, text in more.items())
    return {**more, "filler": "x" * (size - used - len("filler"))}
