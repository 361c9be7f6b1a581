"""An observer is told of each call, with the units that the database has consumed for it."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.execute.observation import Observation


class Note(st.Item):
    key = st.key("owner#{owner}", "note#{number:03d}")

    owner: st.Slug
    number: int
    text: str = "x" * 1500
    tags: set[str] = set()  # noqa: RUF012  pydantic copies it
    seen: int = 0


class User(st.Item):
    key = st.key("user#{name}", "info")
    one_email = st.unique("{email}")

    name: st.Slug
    email: str


class Notes(st.Store, Protocol):
    def user(self, name: str) -> User | None: ...
    def note(self, owner: str, number: int) -> Note | None: ...
    def notes(self, owner: str) -> st.Query[Note]: ...
    @st.counts(Note)
    def count(self, owner: str) -> int: ...


class AsyncNotes(st.AsyncStore, Protocol):
    async def note(self, owner: str, number: int) -> Note | None: ...
    def notes(self, owner: str) -> st.AsyncQuery[Note]: ...


table = st.Table("notes", Notes)
async_table = st.Table("notes", AsyncNotes)


class Counted:
    """A database that adds up what each request has consumed."""

    def __init__(self, database: hashrange.Database) -> None:
        self.database = database
        self.units = 0.0

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self._add(self.database.execute(operation, payload))

    async def execute_async(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        return self._add(await self.database.execute_async(operation, payload))

    def _add(self, response: dict[str, Any]) -> dict[str, Any]:
        consumed = response["ConsumedCapacity"]  # it is asked for
        for one in consumed if isinstance(consumed, list) else [consumed]:
            self.units += one["CapacityUnits"]
        return response


@pytest.fixture
def counted() -> Iterator[Counted]:
    with hashrange.connect() as database:
        table.create(database)
        db = table.open(Notes, database)
        for number in range(20):
            db.put(Note(owner="o", number=number))
        db.create(User(name="u", email="e"))
        yield Counted(database)


def note(number: int) -> Note:
    return Note(owner="o", number=number)


def edit(db: Any) -> None:
    with db.edit(db.note, "o", 1) as one:
        one.text = "y" * 2500


def patch(db: Any) -> None:
    with db.patch(db.note, "o", 1) as one:
        one.text = "y"


def transaction(db: Any) -> None:
    with db.transaction() as together:
        together.put(note(30))
        together.delete(note(2))


def read_transaction(db: Any) -> None:
    with db.read_transaction() as together:
        together.get(db.note, "o", 1)
        together.get(db.note, "o", 99)


def batch(db: Any) -> None:
    with db.batch() as together:
        for number in range(40, 70):
            together.put(note(number))


CALLS: dict[str, tuple[Callable[[Any], object], list[tuple[str, int]]]] = {
    "get": (lambda db: db.note("o", 1), [("Notes.note", 1)]),
    "absent": (lambda db: db.note("o", 99), [("Notes.note", 0)]),
    "iteration": (lambda db: list(db.notes("o")), [("Notes.notes", 20)]),
    "limit": (lambda db: list(db.notes("o").limit(3)), [("Notes.notes", 3)]),
    "first": (lambda db: db.notes("o").first(), [("Notes.notes", 1)]),
    "of": (lambda db: db.notes("o").of(Note), [("Notes.notes", 20)]),
    "page": (lambda db: db.notes("o").page(5), [("Notes.notes", 5)]),
    "count": (lambda db: db.count("o"), [("Notes.count", 20)]),
    "get_many": (lambda db: db.get_many(db.note, [("o", 1), ("o", 99)]), [("Notes.note", 1)]),
    "put": (lambda db: db.put(note(30)), [("put", 1)]),
    "add": (lambda db: db.add(note(1), seen=1), [("add", 1)]),
    "discard": (lambda db: db.discard(note(1), tags={"old"}), [("discard", 1)]),
    "delete": (lambda db: db.delete(note(1)), [("delete", 1)]),
    "edit": (edit, [("Notes.note", 1), ("save", 1)]),
    "patch": (patch, [("patch", 1)]),
    "transaction": (transaction, [("transaction", 2)]),
    "read_transaction": (read_transaction, [("read_transaction", 2)]),
    "unique": (lambda db: db.create(User(name="v", email="f")), [("create", 2)]),
    "changed": (lambda db: db.put(User(name="u", email="g")), [("put", 3)]),
    "removed": (lambda db: db.delete(User(name="u", email="e")), [("delete", 2)]),
    "batch": (batch, [("batch", 30)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_observed(name: str, counted: Counted) -> None:
    call, expected = CALLS[name]
    seen: list[Observation] = []
    call(table.open(Notes, counted, observe=seen.append))
    assert [(one.name, one.items) for one in seen] == expected
    assert sum(one.capacity for one in seen) == counted.units > 0
    assert all(one.seconds > 0 and one.requests and one.pages for one in seen)


def test_an_iteration_that_ends_early_is_observed(counted: Counted) -> None:
    seen: list[Observation] = []
    for _ in table.open(Notes, counted, observe=seen.append).notes("o"):
        break
    assert [(one.name, one.capacity) for one in seen] == [("Notes.notes", counted.units)]


def test_asynchronous_calls_are_observed(counted: Counted) -> None:
    seen: list[Observation] = []

    async def scenario() -> None:
        db = async_table.open(AsyncNotes, counted, observe=seen.append)
        await db.notes("o").first()
        assert [one.number async for one in db.notes("o").limit(2)] == [0, 1]
        async with db.transaction() as together:
            together.put(note(30))

    asyncio.run(scenario())
    assert [(one.name, one.items) for one in seen] == [
        ("AsyncNotes.notes", 1), ("AsyncNotes.notes", 2), ("transaction", 1),
    ]  # fmt: skip
    assert sum(one.capacity for one in seen) == counted.units
