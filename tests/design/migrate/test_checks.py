"""What a migration refuses, by name and with what to do instead."""

from datetime import UTC, datetime
from typing import Any, Protocol

import pytest
from planting import bug_in

import hashrange
from hashrange import design as st
from hashrange.design.migrate import checks

from .models import OLD, Device, Reading, Readings


def table(**declared: Any) -> st.Table:
    """A new model whose entity replaces readings, with some of its parts changed."""
    namespace: dict[str, Any] = {
        "__annotations__": {
            "device": st.Slug,
            "at": datetime,
            "value": int,
            "label": st.Slug | None,
            "serial": st.Slug,
            "version": st.Version,
            "tags": frozenset[str],
        },
        "__module__": __name__,
        "__qualname__": "Sample",
        "key": st.key("samples#{device}", "{at}"),
        "replaces": st.replaces("Reading", value=st.pair("value", int, int)),
        "label": None,
        "version": 0,
        "tags": frozenset(),
        "one_serial": st.unique("serial#{serial}", namespace="serial"),
        "by_label": st.index("sample-labels", "label#{label}", "{at}"),
    }
    more = declared.pop("fields", {})
    namespace["__annotations__"] |= more
    namespace |= declared
    namespace = {name: value for name, value in namespace.items() if value is not Ellipsis}
    return st.Table("fleet", type("Sample", (st.Item,), namespace), Device)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"key": st.key("day#{device}#{at:%Y-%m-%d}", "{at}")},
            "begin the key of the new items with another prefix",
        ),
        ({"key": st.key("samples#{device}", "info")}, "lacks at"),
        ({"by_label": st.index("labels", "label#{label}", "{at}")}, "or use another index"),
        ({"one_serial": ...}, "unique texts"),
        ({"replaces": st.replaces("Readings")}, "does not have"),
        ({"fields": {"more": int}}, "add the field after"),
        ({"replaces": st.replaces("Reading", tags=st.pair("device"))}, "two fields"),
        ({"by_label": ...}, "labelled: programs of the old model could not run this pattern"),
    ],
    ids=["range", "identity", "index", "unique", "name", "field", "merge", "unserved"],
)
def test_a_change_outside_version_one_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(st.DeclarationError, match=message):
        st.Migration(OLD, table(**changed))


def test_without_the_proof_of_disjoint_keys_mirrors_are_counted(
    database: hashrange.Database,
) -> None:
    """The reason of the proof: an old program counts the mirrors in its partition."""
    same = table(key=st.key("day#{device}#{at:%Y-%m-%d}", "new#{at}"))
    others = tuple(check for check in checks._CHECKS if check is not checks._disjoint)
    with bug_in(checks, "_CHECKS", others):
        migration = st.Migration(OLD, same, lease_seconds=0, signature_seconds=0)
    OLD.create(database)
    readings = migration.open(Readings, database)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    readings.create(Reading(device="d", at=at, serial="s"))
    assert readings.count("d", at) == 1
    migration.start(database)
    migration.advance(database)
    migration.advance(database)
    assert readings.count("d", at) == 2


def test_the_possible_one_is_accepted() -> None:
    assert st.Migration(OLD, table()).twins


def test_a_pattern_that_becomes_less_consistent_needs_consent() -> None:
    class Order(st.Item):
        key = st.key("order#{order}", "info")
        order: st.Slug
        user: st.Slug

    class Orders(st.Store, Protocol):
        def order(self, order: str) -> Order | None: ...

    class UserOrder(st.Item):
        key = st.key("user#{user}", "order#{order}")
        by_order = st.index("orders", "order#{order}", "info")
        replaces = st.replaces("Order")
        order: st.Slug
        user: st.Slug

    old, new = st.Table("shop", Orders), st.Table("shop", UserOrder)
    with pytest.raises(st.DeclarationError, match="--accept order"):
        st.Migration(old, new)
    assert st.Migration(old, new, accept=["order"]).twins


def test_a_pair_needs_both_functions() -> None:
    with pytest.raises(TypeError, match="both functions"):
        st.pair("milli", int)


def test_a_split_and_another_table_are_refused() -> None:
    with pytest.raises(st.DeclarationError, match="stays in one table"):
        st.Migration(OLD, st.Table("other", Device))
    with pytest.raises(st.DeclarationError, match="just deploy"):
        st.Migration(OLD, OLD)
