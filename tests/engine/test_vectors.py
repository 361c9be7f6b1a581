"""Views of vector indexes, and the search in them: large blocks, changes, and without numpy."""

import random
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from small import small_blocks as small_blocks

from hashrange import connect, kv
from hashrange.database.database import Database
from hashrange.engine import fetch
from hashrange.engine.fetch import Moment
from hashrange.engine.keyspace.keys import partition
from hashrange.engine.vectors import search
from hashrange.engine.vectors.blocks import Block, StoredVector
from hashrange.engine.vectors.distances import Query
from hashrange.engine.vectors.views import Part, View
from hashrange.model.consistency import Eventual
from hashrange.model.errors import ValidationException
from hashrange.model.floats import pack, unpack
from hashrange.model.settings import Settings
from hashrange.runtime.drive import drive
from hashrange.runtime.vector_views import VectorViews
from hashrange.testing.clock import TestClock

DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
DAY = 24 * 60 * 60


def row(name: str, numbers: list[float]) -> StoredVector:
    return StoredVector(name.encode(), name.encode(), pack(numbers), ())


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("distance", DISTANCES)
def test_rows_that_are_equally_near_are_not_all_held(distance: Any) -> None:
    """Near duplicates, and vectors at exactly the same distance."""
    pytest.importorskip("numpy")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = random.Random(seed)
    centre = [generator.uniform(-1, 1) for _ in range(32)]
    near = [[n * (1 + 1e-6 * generator.random()) for n in centre] for _ in range(200)]
    along = [[float(at == place) for at in range(32)] for place in range(32)] * 8
    for vectors, target in ((near, centre), (along, [1.0] * 32)):
        generator.shuffle(vectors)
        rows = [row(f"{number:03}", vector) for number, vector in enumerate(vectors)]
        query = Query(distance, unpack(pack(target)))
        best = search._Best(query, None, 10)
        for at in range(0, len(rows), 20):
            list(best.consider(Part(Block(rows[at : at + 20]))))
            assert len(best._rows) <= 16
        steps: Any = best.matches()
        with connect() as database:
            snapshot = _store(database).snapshot()
            found = [match.row.key for match in drive(steps, snapshot)]
            snapshot.close()
        scores = query.scores([each.packed for each in rows])
        ranks = {each.key: query.rank(score) for each, score in zip(rows, scores, strict=True)}
        assert found == sorted(ranks, key=lambda key: (ranks[key], key))[:10]


# ---- over a database ----


def put(database: Database, name: str, *numbers: float, tenant: str = "t") -> None:
    elements = [{"N": str(number)} for number in numbers]
    item = {"pk": {"S": name}, "tenant": {"S": tenant}, "e": {"L": elements}}
    database.execute("PutItem", {"TableName": "docs", "Item": item})


def nearest(
    database: Database, *numbers: float, top: int = 1, tenant: str | None = None
) -> list[str]:
    condition: dict[str, Any] = {
        "SearchConditionExpression": "tenant = :t",
        "ExpressionAttributeValues": {":t": {"S": tenant}},
    }
    response = database.execute(
        "SearchVectors",
        {
            "TableName": "docs",
            "IndexName": "all",
            "SearchVector": [{"N": str(number)} for number in numbers],
            "TopK": top,
            **(condition if tenant else {}),
        },
    )
    return [result["Item"]["pk"]["S"] for result in response["SearchResults"]]


def create(database: Database, by: str | None = None) -> Database:
    index: dict[str, Any] = {
        "IndexName": "all",
        "VectorAttribute": {"AttributeName": "e"},
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN",
    }
    if by:
        index["SearchSchema"] = [{"AttributeName": by, "SearchSchemaElementType": "HASH"}]
    names = ["pk", by] if by else ["pk"]
    database.execute(
        "CreateTable",
        {
            "TableName": "docs",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in names
            ],
            "BillingMode": "PAY_PER_REQUEST",
            "VectorIndexes": [index],
        },
    )
    return database


@pytest.fixture
def docs() -> Iterator[Database]:
    with connect() as database:
        yield create(database)


@pytest.mark.usefixtures("small_blocks")
def test_searches_follow_changes_across_blocks(docs: Database) -> None:
    """Rows are added, moved and deleted in views of several blocks."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = random.Random(seed)
    there: dict[str, tuple[float, float]] = {}
    for step in range(400):
        name = f"p{generator.randrange(60)}"
        if generator.random() < 0.3 and name in there:
            key = {"TableName": "docs", "Key": {"pk": {"S": name}}}
            docs.execute("DeleteItem", key)
            del there[name]
        else:
            there[name] = (generator.randrange(1000), generator.randrange(1000))
            put(docs, name, *there[name])
        if step % 4 == 0:
            x, y = generator.randrange(1000), generator.randrange(1000)
            expected = sorted((a - x) ** 2 + (b - y) ** 2 for a, b in there.values())[:5]
            found = nearest(docs, x, y, top=5)
            assert len(set(found)) == len(found)
            squares = [(there[each][0] - x) ** 2 + (there[each][1] - y) ** 2 for each in found]
            assert squares == expected


def test_an_index_that_does_not_fit_the_memory_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(settings=Settings(vector_cache_bytes=0)) as database:
        create(database)
        for number in range(300):
            put(database, f"p{number}", number, 0)
        assert nearest(database, 123.2, 0, top=2) == ["p123", "p124"]
        put(database, "new", 123.1, 0)
        assert nearest(database, 123.2, 0) == ["new"]


def test_views_that_are_loaded_make_room_for_themselves() -> None:
    """What is kept and what is being loaded have a limit together."""
    block = Block([row(str(number), [0, 0]) for number in range(10)])
    view, views = View((), (Part(block),), 0.0), VectorViews(3 * block.bytes)
    for place in (b"one", b"two"):
        views.keep((1, place), view)
    with views.reserve() as takes, views.reserve() as takes_too:
        assert takes(block.bytes)
        assert views.kept((1, b"one"))
        assert takes_too(block.bytes)
        assert not views.kept((1, b"two")), "the other was used later"
        assert not takes_too(2 * block.bytes), "the loads alone are too large"
        assert takes(2 * block.bytes)
    assert views.kept((1, b"one"))


def test_a_search_takes_over_what_another_has_read(docs: Database) -> None:
    """Both begin when nothing is kept; the one that is later reads little."""
    for number in range(600):
        put(docs, f"p{number}", number, 0)
    [table] = _tables(docs.runtime)
    [index] = table.vector_indexes
    moment = Moment(0.0, views=VectorViews(400_000))  # more than a half of it is needed
    query = Query("EUCLIDEAN", (7.2, 0.0))
    snapshot = _store(docs).snapshot()
    steps: Any = search.nearest(index, b"", query, None, 2, moment)
    read = next(steps)
    while type(read) is not kv.Range or read.space != index.space:
        read = steps.send(snapshot.read(read))
    other: Any = search.nearest(index, b"", query, None, 2, moment)
    expected = [match.row.raw for match in drive(other, snapshot)]
    left = list(_reads(steps, snapshot, read))
    assert len(expected) == 2
    assert left[-1] == expected
    assert sum(type(each) is kv.Range and each.space == index.space for each in left) == 1
    snapshot.close()


def _reads(steps: Any, snapshot: kv.Snapshot, read: Any) -> Iterator[Any]:
    """The reads that are left, and the raw keys of the matches."""
    try:
        while True:
            yield read
            read = steps.send(snapshot.read(read))
    except StopIteration as end:
        yield [match.row.raw for match in end.value]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_a_search_may_be_as_old_as_reads_of_an_index(cache_bytes: int) -> None:
    clock = TestClock()
    settings = Settings(consistency=Eventual(worst=True, lag_max=1), vector_cache_bytes=cache_bytes)
    with connect(clock=clock, settings=settings) as database:
        create(database)
        clock.advance(2)
        assert nearest(database, 1, 0) == []
        put(database, "p1", 1, 0)
        assert nearest(database, 1, 0) == []
        clock.advance(0.9)
        put(database, "p2", 1, 0)
        assert nearest(database, 1, 0, top=5) == []
        clock.advance(0.2)
        assert nearest(database, 1, 0, top=5) == ["p1"]
        clock.advance(1)
        assert nearest(database, 1, 0, top=5) == ["p1", "p2"]
        put(database, "p1", 5, 0)
        database.execute("DeleteItem", {"TableName": "docs", "Key": {"pk": {"S": "p2"}}})
        assert nearest(database, 1, 0, top=5) == ["p1", "p2"]
        clock.advance(1.1)
        assert nearest(database, 1, 0, top=5) == ["p1"]


def test_without_numpy_the_answers_are_the_same(
    docs: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        put(docs, f"p{number}", number * 0.1, 1)
    expected = nearest(docs, 2.34, 1, top=10)
    monkeypatch.setitem(sys.modules, "numpy", None)
    put(docs, "p50", 5, 1)
    assert nearest(docs, 2.34, 1, top=10) == expected


def test_a_search_that_needs_numpy_is_refused_before_it_reads_a_vector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr(search, "PLAIN_ROWS_MAX", 10)
    with connect() as database:
        create(database)
        for number in range(11):
            put(database, f"p{number}", number, 0)
        to = [{"N": "1"}, {"N": "1"}]
        body = {"TableName": "docs", "IndexName": "all", "SearchVector": to, "TopK": 1}
        found = database.explain("SearchVectors", body)
        assert "pip install 'hashrange[vectors]'" in found["error"]["message"]
        assert found["rows_read"] == 0
        with pytest.raises(ValidationException, match="pip install"):
            nearest(database, 1, 1)


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
@pytest.mark.parametrize("by", [None, "tenant"])
def test_a_search_looks_at_a_limited_number_of_vectors(
    by: str | None, cache_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the number is known before, or only when the vectors are read."""
    monkeypatch.setattr(search, "NUMBERS_MAX", 2 * 10)
    with connect(settings=Settings(vector_cache_bytes=cache_bytes)) as database:
        create(database, by=by)
        for number in range(10):
            put(database, f"p{number}", number, 0)
        tenant = "t" if by else None
        assert nearest(database, 3.2, 0, tenant=tenant) == ["p3"]
        put(database, "p10", 10, 0)
        with pytest.raises(ValidationException, match="no more than 10 vectors of 2 dimensions"):
            nearest(database, 1, 1, tenant=tenant)
        put(database, "other", 1, 1, tenant="other")
        if by:
            assert nearest(database, 1, 1, tenant="other") == ["other"]


def test_the_log_is_trimmed_and_searches_go_on() -> None:
    clock = TestClock()
    with connect(clock=clock) as database:
        create(database)
        for number in range(100):
            put(database, f"p{number % 50}", number, 0)
        assert nearest(database, 99.2, 0) == ["p49"]
        clock.advance(2 * DAY)
        put(database, "new", 99.1, 0)
        for _ in range(64):  # each begins in another slot
            while not _trimmed(database):
                pass
            clock.advance(0.001)
        slots = _logged_slots(database)
        assert len(slots) == len(set(slots)) > 8, "the last record of each slot is kept"
        assert nearest(database, 99.2, 0) == ["new"]
        put(database, "p7", 99.2, 0)
        assert nearest(database, 99.2, 0) == ["p7"]
        assert list(database.check()) == []


def _trimmed(database: Database) -> bool:
    body = msgspec.json.encode({"TableName": "docs", "IndexName": "all"})
    answer = database.runtime.call_upkeep("upkeep.TrimVectorLog", body)
    done: bool = msgspec.json.decode(answer)["Done"]
    return done


def _logged_slots(database: Database) -> list[bytes]:
    """The slot of each record in the log of the index."""
    runtime: Any = database.runtime
    [table] = _tables(runtime)
    snapshot = runtime._store.snapshot()
    try:
        page = snapshot.read(kv.Range(table.vector_indexes[0].log, b"", None))
    finally:
        snapshot.close()
    return [key[:2] for key, _ in page.rows]


def test_hash_values_in_one_slot_of_the_log_are_told_apart() -> None:
    """Their records are in one slot, and a view of one value leaves out the rows of the other."""
    with connect() as database:
        create(database, by="tenant")
        by_slot: dict[int, list[str]] = {}
        while max(map(len, by_slot.values()), default=0) < 2:
            tenant = f"t{sum(map(len, by_slot.values()))}"
            by_slot.setdefault(kv.slot_of(partition([{"S": tenant}])), []).append(tenant)
        one, other = next(tenants for tenants in by_slot.values() if len(tenants) == 2)
        put(database, "one", 0, 0, tenant=one)
        assert nearest(database, 0, 0, top=5, tenant=one) == ["one"]
        put(database, "other", 0, 0, tenant=other)
        assert nearest(database, 0, 0, top=5, tenant=one) == ["one"]
        assert nearest(database, 0, 0, top=5, tenant=other) == ["other"]


def test_a_search_in_an_older_snapshot_does_not_see_a_later_view(docs: Database) -> None:
    """A view that another search has brought further is not used for an earlier moment."""
    put(docs, "old", 0, 0)
    runtime: Any = docs.runtime
    kept = VectorViews(1 << 20)
    [table] = _tables(runtime)
    [index] = table.vector_indexes
    query = Query("EUCLIDEAN", (1.0, 1.0))

    def names(snapshot: Any) -> list[str]:
        moment = Moment(0.0, views=kept)
        steps: Any = search.nearest(index, b"", query, None, 5, moment)
        return [match.row.raw.decode()[5:] for match in drive(steps, snapshot)]

    before = runtime._store.snapshot()
    try:
        put(docs, "new", 1, 1)
        after = runtime._store.snapshot()
        try:
            assert names(after) == ["new", "old"]
        finally:
            after.close()
        assert names(before) == ["old"]
    finally:
        before.close()


def _store(database: Database) -> Any:
    runtime: Any = database.runtime
    return runtime._store


def _tables(runtime: Any) -> Any:
    snapshot = runtime._store.snapshot()
    try:
        steps: Any = fetch.all_tables()
        return drive(steps, snapshot)
    finally:
        snapshot.close()
