"""The asynchronous store over a real aiobotocore client, to a server over HTTP.

aiobotocore holds botocore back by some releases, so that it is no part of the `dev` extra:
`make test-python-clients` has it in an environment of its own.
"""

import asyncio
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.server.listener import open_listener
from hashrange.server.server import Server

aiobotocore = pytest.importorskip("aiobotocore.session", reason="make test-python-clients has it")


class Note(st.Item):
    key = st.key("author#{author}", "note#{number:03d}")

    author: st.Slug
    number: int
    text: str = ""
    digest: bytes = b""


class Notes(st.AsyncStore, Protocol):
    async def note(self, author: str, number: int) -> Note | None: ...
    def notes(self, author: str) -> st.AsyncQuery[Note]: ...


table = st.Table("notes", Notes)


async def over_http(database: hashrange.Database) -> None:
    listener = open_listener("127.0.0.1", 0)
    server = Server(database.runtime, listener)
    await server.start()
    client: Any = aiobotocore.get_session().create_client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{listener.port}",
        region_name="us-east-1",
        aws_access_key_id="example",
        aws_secret_access_key="example",
    )
    try:
        async with client as connected:
            await session(table.open(Notes, connected))
    finally:
        await server.stop()


async def session(db: Notes) -> None:
    await db.put(Note(author="ann", number=1, text="first", digest=b"\x00\xff"))
    found = await db.note("ann", 1)
    assert found is not None
    assert (found.text, found.digest) == ("first", b"\x00\xff")
    assert await db.note("ann", 2) is None

    async with db.transaction() as together:
        together.check(Note(author="ann", number=1), "text = :t", t="first")
        together.put(Note(author="ann", number=2))
        together.put(Note(author="bob", number=1))
    assert [note.number async for note in db.notes("ann")] == [1, 2]

    with pytest.raises(st.ConditionFailed):
        await third_if_text(db, "other")
    assert [note.number async for note in db.notes("ann")] == [1, 2]
    with pytest.raises(st.AlreadyExists):
        await db.create(Note(author="ann", number=1))


async def third_if_text(db: Notes, text: str) -> None:
    async with db.transaction() as together:
        together.check(Note(author="ann", number=1), "text = :t", t=text)
        together.put(Note(author="ann", number=3))


def test_put_get_query_and_transaction(database: hashrange.Database) -> None:
    table.create(database)
    asyncio.run(over_http(database))
