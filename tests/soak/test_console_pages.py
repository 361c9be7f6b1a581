"""Pages of the console over a table of a million items: they cost what they cost over a small one.

`HASHRANGE_SOAK=1` loads 1,000,000 items. Only a soak runs it, because it asserts a ratio of times.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest

import hashrange
from hashrange.tools.console import Console, serving
from hashrange.tools.console.values import cursor
from hashrange.tools.target import target_of

from .runs import SOAK, times

pytestmark = pytest.mark.skipif(not SOAK, reason="only with HASHRANGE_SOAK: it asserts a time")

FEW, MANY = 1_000, times(20_000, 1_000_000)
PAGES = 20
RATIO_MAX = 3.0
"""A page over many items may take so much longer than one over few, on a noisy machine."""


@pytest.fixture(scope="module")
def pages() -> Iterator[tuple[OpenerDirector, str]]:
    """A browser's place, and the address of a console over both tables."""
    with (
        tempfile.TemporaryDirectory() as folder,
        hashrange.connect(Path(folder) / "test.db", durability="memory") as database,
    ):
        for table, count in (("few", FEW), ("many", MANY)):
            load(database, table, count)
        with serving(Console(target_of(database, "a database"))) as url:
            browser = build_opener(HTTPCookieProcessor())
            browser.open(url).read()
            yield browser, url.partition("/?")[0]


def load(database: hashrange.Database, table: str, count: int) -> None:
    names = ("pk", "sk")
    database.execute(
        "CreateTable",
        {
            "TableName": table,
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in names],
            "KeySchema": [
                {"AttributeName": n, "KeyType": k}
                for n, k in zip(names, ("HASH", "RANGE"), strict=True)
            ],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    for start in range(0, count, 25):
        puts = [{"PutRequest": {"Item": item(n)}} for n in range(start, min(count, start + 25))]
        database.execute("BatchWriteItem", {"RequestItems": {table: puts}})


def item(number: int) -> dict[str, Any]:
    key = {"pk": {"S": f"customer#{number // 100}"}, "sk": {"S": f"order#{number % 100:03}"}}
    return {**key, "text": {"S": "x" * 100}, "number": {"N": str(number)}}


def test_pages_take_as_long_over_many_items_as_over_few(
    pages: tuple[OpenerDirector, str],
) -> None:
    browser, base = pages
    after = cursor({name: item(FEW // 2)[name] for name in ("pk", "sk")})
    ways = {
        "the first page": "",
        "a page in the middle": f"?after={after}",
        "a query": "/query?pk=customer%235&run=1",
        "the details": "/details",
    }
    for way, path in ways.items():
        few, many = (
            seconds(browser, f"{base}/table/{table}{path}", table) for table in ("few", "many")
        )
        print(f"{way}: {few * 1000:.1f} ms over {FEW:,}, {many * 1000:.1f} ms over {MANY:,} items")
        assert many < few * RATIO_MAX


def seconds(browser: OpenerDirector, url: str, said: str) -> float:
    """The median time of a page."""
    taken = []
    for _ in range(PAGES):
        start = perf_counter()
        assert said in browser.open(url).read().decode()
        taken.append(perf_counter() - start)
    return statistics.median(taken)
