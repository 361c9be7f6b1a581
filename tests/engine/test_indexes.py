"""Indexes follow from items: after any change, their rows equal a recomputation."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange import kv
from hashrange.engine import changes
from hashrange.engine.capacity import Receipt, write_units
from hashrange.engine.decision import Backfill, Decision, ItemChange
from hashrange.engine.effects import Effects
from hashrange.engine.indexes import MAINTAINERS, expiry, secondary
from hashrange.engine.indexes.maintainer import Checked
from hashrange.engine.keyspace import system
from hashrange.engine.keyspace.keys import RowKey, index_key, table_key
from hashrange.engine.keyspace.rows import Row, encode_item, encode_row
from hashrange.engine.transition import derive
from hashrange.model.tables import AnyIndex, Index, Table, TimeToLive
from hashrange.model.values import Item, item_size, normalize_item

pytestmark = pytest.mark.slow

KEY = {"pk": {"S": "p"}, "sk": {"N": "7"}}
ALL = Index(space=2, hash=("a",), name="all", local=False, projection="ALL")
SEVERAL = Index(
    space=3, hash=("a", "n"), range=("b", "m"), name="several", local=False, projection="KEYS_ONLY"
)
SOME = Index(
    space=4, hash=("b",), name="some", local=False, projection="INCLUDE", include=("v", "t")
)
LOCAL = Index(space=5, hash=("pk",), range=("b",), name="local", local=True, projection="KEYS_ONLY")
BUILT = Index(
    space=6,
    hash=("n",),
    name="built",
    local=False,
    projection="ALL",
    building=True,
    built_to=b"\xff",
)
AHEAD = Index(space=7, hash=("n",), name="ahead", local=False, projection="ALL", building=True)
TTL = TimeToLive(attribute="t", space=8, building=False)
COLLECTIONS = 9
TABLE = Table(
    space=1,
    hash=("pk",),
    range=("sk",),
    name="table",
    id="id",
    account="000000000000",
    region="us-east-1",
    types={"pk": "S", "sk": "N", "a": "S", "b": "B", "n": "N", "m": "N"},
    indexes=(ALL, SEVERAL, SOME, LOCAL, BUILT, AHEAD),
    created_at=0,
    active_at=0,
    ttl=TTL,
    collections=COLLECTIONS,
)
HIDDEN = (AHEAD.space,)
"""A build has not come to the item."""

numbers = st.sampled_from(["1", "1.0", "1e0", "01", "2.50", "-0", "1700000000", "1.7e9", "1e20"])
of_type = {
    "S": st.sampled_from(["x", "y", "", "é" * 1100]).map(lambda text: {"S": text}),
    "N": numbers.map(lambda text: {"N": text}),
    "B": st.sampled_from(["eA==", "eHk=", ""]).map(lambda data: {"B": data}),
}
others = st.sampled_from([{"SS": ["b", "a"]}, {"M": {"x": {"N": "1.0"}}}, {"S": "z" * 3000}])
values = st.one_of(*of_type.values(), others)
times = st.sampled_from(
    [{"N": text} for text in ("1", "9", "1700000000", "1.7e9", "1800000000.5", "-5", "1e20")]
    + [{"S": "1700000000"}]
)
fitting = {name: of_type[TABLE.types[name]] | values for name in "abnm"} | {
    "v": values,
    "t": times,
    "other": values,
}
attributes = st.fixed_dictionaries({}, optional=fitting)


changed = st.sets(st.sampled_from(sorted(fitting)), min_size=1, max_size=3)


@st.composite
def images(draw: st.DrawFn) -> tuple[Item | None, Item | None]:
    """An old and a new image; most often the new one differs in a few attributes."""
    old = draw(st.none() | st.fixed_dictionaries(fitting) | attributes)
    if old is None or not draw(st.integers(0, 3)):
        new = draw(st.none() | attributes)
    else:
        new = {**old, **{name: draw(fitting[name]) for name in draw(changed)}}
        if draw(st.booleans()):
            del new[draw(st.sampled_from(sorted(new)))]
    return _stored_if_any(old), _stored_if_any(new)


def _stored_if_any(image: dict[str, Any] | None) -> Item | None:
    return None if image is None else _stored(image)


def _stored(image: dict[str, Any]) -> Item:
    item: Item = {name: dict(value) for name, value in {**KEY, **image}.items()}
    normalize_item(item)
    return item


def _row(item: Item) -> Row:
    key = table_key(TABLE, item)
    return Row(encode_row(key.raw, encode_item(item), item_size(item)))


def _change(old: Item | None, new: Item | None, table: Table = TABLE) -> ItemChange:
    size = 0 if new is None else item_size(new)
    row = _row(old) if old else None
    return ItemChange(
        table, table_key(table, KEY), row, new, size, collection_size=_collection(old)
    )


def _collection(item: Item | None) -> int:
    """The size of a collection with this item alone, and its entries in the local index."""
    if item is None:
        return 0
    size = item_size(item)
    for (space, _), value in _expected(item).items():
        if space == LOCAL.space:
            size += Row(value).size
    return size


def _expected(item: Item | None) -> dict[tuple[int, bytes], bytes]:
    """The rows of all indexes, computed from the item alone."""
    rows: dict[tuple[int, bytes], bytes] = {}
    if item is None:
        return rows
    owner = table_key(TABLE, item)
    for index in TABLE.indexes:
        key = index_key(TABLE, index, item, owner)
        if index.space in HIDDEN or key is None:
            continue
        names = {*TABLE.key, *index.key, *index.include}
        shown = {n: v for n, v in item.items() if index.projection == "ALL" or n in names}
        rows[index.space, key.key] = encode_row(key.raw, encode_item(shown), item_size(shown))
    seconds = int(float(item.get("t", {}).get("N", 0)))
    if 0 < seconds < 1 << 63:
        key_bytes = seconds.to_bytes(8, "big") + _digest(owner.raw)
        rows[TTL.space, key_bytes] = encode_row(owner.raw, b"", 0)
    return rows


def _digest(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=16).digest()


def _applied(rows: dict[Any, bytes], writes: Sequence[kv.Write]) -> dict[Any, bytes]:
    """The rows of the indexes after the writes; a deletion of no row is a mistake."""
    rows = dict(rows)
    for write in writes:
        if isinstance(write, kv.Put) and write.space not in (TABLE.space, COLLECTIONS):
            rows[write.space, write.key] = write.value
        elif isinstance(write, kv.Delete) and write.space not in (TABLE.space, COLLECTIONS):
            del rows[write.space, write.key]
    return rows


def _content(rows: dict[Any, bytes]) -> dict[Any, Any]:
    """Rows without the order of their attributes."""
    return {
        place: (row.raw, row.size, row.json and row.item)
        for place, value in rows.items()
        for row in [Row(value)]
    }


@settings(max_examples=150, deadline=None)
@given(images())
def test_rows_follow_a_change(pair: tuple[Item | None, Item | None]) -> None:
    old, new = pair
    writes = derive(Decision([_change(old, new)], {}), 0)
    assert _content(_applied(_expected(old), writes)) == _content(_expected(new))


@settings(max_examples=150, deadline=None)
@given(images())
def test_counters_follow_a_change(pair: tuple[Item | None, Item | None]) -> None:
    old, new = pair
    writes = derive(Decision([_change(old, new)], {}), 0)
    before, after = _counted(old), _counted(new)
    changed = {name: after[name] - before[name] for name in {*before, *after}}
    added = {write.name: write.delta for write in writes if isinstance(write, kv.Add)}
    assert added == {name: delta for name, delta in changed.items() if delta}


def _counted(item: Item | None) -> dict[bytes, int]:
    counters: defaultdict[bytes, int] = defaultdict(int)
    if item is None:
        return counters
    sizes = [(TABLE.space, item_size(item))]
    sizes += [(space, Row(v).size) for (space, _), v in _expected(item).items() if space != 8]
    for space, size in sizes:
        counters[system.item_count(space, 0)] += 1
        counters[system.size_bytes(space, 0)] += size
    return counters


@settings(max_examples=150, deadline=None)
@given(images())
def test_the_size_of_the_collection_follows_a_change(
    pair: tuple[Item | None, Item | None],
) -> None:
    old, new = pair
    before, after = _collection(old), _collection(new)
    writes = derive(Decision([_change(old, new)], {}), 0)
    place = (COLLECTIONS, table_key(TABLE, KEY).key[:16])
    expected: list[kv.Write] = []
    if before != after:
        put = kv.Put(*place, system.encode_number(after))
        expected.append(put if after else kv.Delete(*place))
    found = [
        write
        for write in writes
        if isinstance(write, kv.Put | kv.Delete) and write.space == COLLECTIONS
    ]
    assert found == expected


@settings(max_examples=150, deadline=None)
@given(images())
def test_each_index_charges_for_what_changes_in_it(pair: tuple[Item | None, Item | None]) -> None:
    old, new = pair
    receipt = Receipt()
    derive(Decision([_change(old, new)], {}, receipt=receipt), 0)
    before, after = _expected(old), _expected(new)
    for index in TABLE.indexes:
        gone, come = (
            {key: Row(value) for (space, key), value in rows.items() if space == index.space}
            for rows in (before, after)
        )
        if list(gone) == list(come):
            expected = [
                (key, write_units(max(gone[key].size, come[key].size)))
                for key in gone
                if gone[key].item != come[key].item
            ]
        else:
            moved = (*gone.items(), *come.items())
            expected = [(key, write_units(row.size)) for key, row in moved]
        charged = [charge for charge in receipt.charges if charge.index is index]
        assert [(charge.key, charge.units) for charge in charged] == expected


@settings(deadline=None)
@given(st.lists(attributes, max_size=4))
def test_a_build_makes_the_same_rows_as_writes(drawn: list[dict[str, Any]]) -> None:
    items = [_stored({**image, "sk": {"N": str(at)}}) for at, image in enumerate(drawn)]
    for index in TABLE.maintained:
        if index.space in (*HIDDEN, LOCAL.space):  # a local index is never built afterwards
            continue
        step = Backfill(TABLE, index, [_row(item) for item in items])
        writes = derive(Decision([step], {}), 0)
        expected: dict[Any, bytes] = {}
        for item in items:
            expected |= {at: v for at, v in _expected(item).items() if at[0] == index.space}
        assert _applied({}, writes) == expected


@settings(max_examples=150, deadline=None)
@given(images())
def test_a_check_accepts_derived_rows(
    pair: tuple[Item | None, Item | None],
) -> None:
    old, new = pair
    writes = derive(Decision([_change(old, new)], {}), 0)
    rows = _applied(_expected(old), writes)
    for index in TABLE.maintained:
        if new is not None and index.space not in HIDDEN:
            checked = _checked(index, new, rows)
            assert checked.problem is None
            stored = [key for space, key in rows if space == index.space]
            assert stored == ([] if checked.key is None else [checked.key.key])


@settings(deadline=None)
@given(attributes.map(_stored), st.binary(max_size=40))
def test_a_check_finds_rows_that_are_missing_or_wrong(item: Item, other: bytes) -> None:
    for (space, key), value in _expected(item).items():
        [index] = [index for index in TABLE.maintained if index.space == space]
        assert "is missing" in str(_checked(index, item, {}).problem)
        damaged = {(space, key): other if other != value else b""}
        assert "differs from its item" in str(_checked(index, item, damaged).problem)


def _checked(index: AnyIndex, item: Item, rows: dict[Any, bytes]) -> Checked:
    check = MAINTAINERS[type(index)].check(TABLE, index, table_key(TABLE, item), _row(item))
    try:
        read = next(check)
        while True:
            assert isinstance(read, kv.Get)
            read = check.send([rows.get(place) for place in read.keys])
    except StopIteration as end:
        checked: Checked = end.value
        return checked


def test_no_key_is_computed_if_the_shown_attributes_are_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("nothing of the entry has changed")

    monkeypatch.setattr(secondary, "index_key", never)
    monkeypatch.setattr(expiry, "_expires_at", never)
    table = Table(**{**{f: getattr(TABLE, f) for f in TABLE.__struct_fields__}, "indexes": (SOME,)})
    old = _stored({"b": {"B": "eA=="}, "v": {"S": "v"}, "t": {"N": "1"}, "other": {"S": "old"}})
    change = _change(old, {**old, "other": {"S": "new"}}, table)
    effects = Effects(Receipt(), 0)
    changes.derive([change], effects)
    assert [type(write) for write in effects.writes] == [kv.Put]


def test_entries_have_the_keys_of_the_keyspace() -> None:
    item = _stored({"a": {"S": "x"}})
    owner = table_key(TABLE, item)
    entry = secondary.entry_of(TABLE, ALL, owner, item, item_size(item))
    assert entry
    assert entry.key == index_key(TABLE, ALL, item, RowKey(b"", owner.raw))
