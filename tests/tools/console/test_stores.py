"""The console over a server, in memory and over PostgreSQL: it reads, writes, or only reads."""

from collections.abc import Iterator
from contextlib import ExitStack
from json import dumps

import pytest

import hashrange
from console import shop
from console.asking import Browserless
from hashrange.testing.postgres_server import PostgresServer
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import cursor
from hashrange.tools.target import Target, open_target

BOB = {"pk": {"S": "customer#bob"}, "sk": {"S": "profile"}, "name": {"S": "bob"}}
KEY = {name: BOB[name] for name in ("pk", "sk")}
PAGES = (
    "/",
    "/partiql?statement=SELECT+*+FROM+shop&run=1",
    "/table/shop",
    "/table/shop?view=side",
    "/table/shop?fname=name&fop==&ftype=S&fvalue=bob",
    "/table/shop/query?pk=customer%23ann&run=1",
    "/table/shop/values?of=status",
    "/table/shop/details",
    "/table/shop/export",
    "/table/shop/stream",
    f"/table/shop/item?key={cursor(KEY)}",
)


@pytest.fixture(params=["memory", "postgresql"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A server with the shop, through boto3 alone."""
    with ExitStack() as stack:
        dsn = None
        if request.param == "postgresql":
            server: PostgresServer = request.getfixturevalue("durable_postgres_server")
            dsn = server.new_schema()
        database = stack.enter_context(hashrange.connect(dsn))
        url = stack.enter_context(hashrange.serve(database)).url
        opened = stack.enter_context(open_target(url))
        shop.make(opened.client)
        yield opened


@pytest.mark.parametrize("write", [True, False])
def test_pages_and_writes(target: Target, write: bool) -> None:
    changed = BOB | {"name": {"S": "Robert"}}
    with serving(Console(target, write=write)) as url:
        console = Browserless(url).enter()
        assert {path: console.ask(path).status for path in PAGES} == dict.fromkeys(PAGES, 200)
        saved = console.post("/table/shop/item/save", read=dumps(BOB), item=dumps(changed))
        deleted = console.post("/table/shop/delete", name="shop")
    assert (saved.status, deleted.status) == ((303, 303) if write else (403, 403))
    tables = target.client.list_tables()["TableNames"]
    assert tables == ([] if write else ["shop"])
    if not write:
        assert target.client.get_item(TableName="shop", Key=KEY)["Item"] == BOB
