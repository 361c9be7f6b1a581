"""The guided tour: each step runs real requests, and shows what they did."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from waiting import SECONDS_MAX

import hashrange
from console.asking import Browserless, Open
from console.test_command import started
from hashrange.design import lint
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.console import Console, serving
from hashrange.tools.console.pages.learn import behind, split
from hashrange.tools.console.pages.learn.ending import model
from hashrange.tools.console.rings import ring
from hashrange.tools.console.tour import fill
from hashrange.tools.target import Target, target_of

HOSTILE = "<script>window.hit=1</script>\u202e"
STEPS = (
    *("ring", "reads", "writes", "indexes", "hot"),
    *("burst", "split", "behind", "stale", "collection"),
)


@pytest.fixture(scope="module")
def db() -> Iterator[hashrange.Database]:
    """The database of the tour, for all steps, as a user has it."""
    with hashrange.connect() as database:
        fill(database)
        yield database


@pytest.fixture(scope="module")
def of_db(db: hashrange.Database) -> Target:
    return target_of(db, "a database")


@pytest.fixture(scope="module")
def tour(of_db: Target) -> Iterator[Browserless]:
    with serving(Console(of_db, write=True, tour=True)) as url:
        yield Browserless(url).enter()


def text_of(page: str) -> str:
    """The words of a page, without markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_tour_is_shown_if_there_is_one(tour: Browserless, opened: Open) -> None:
    assert 'href="/learn"' in tour.ask("/").text
    for step in STEPS:
        assert f"/learn/{step}" in tour.ask("/learn").text
        assert tour.ask(f"/learn/{step}").status == 200
    other = opened(write=True).enter()
    assert 'href="/learn"' not in other.ask("/").text
    assert other.ask("/learn/ring").status == 404


def test_its_writes_need_a_console_that_may(of_db: Target) -> None:
    with serving(Console(of_db, tour=True)) as url:
        console = Browserless(url).enter()
        for step in ("ring", "writes", "indexes"):
            assert console.post(f"/learn/{step}", organisation="x").status == 403


def test_an_item_is_put_where_its_hash_says(tour: Browserless, db: hashrange.Database) -> None:
    put = tour.post("/learn/ring", organisation="pqr678", name="New", owner="kim")
    assert put.status == 303
    page = text_of(tour.ask(put.headers["location"]).text)
    told = re.search(r"pqr678 are in partition (\d) of the table", page)
    assert told
    before = db.inspect("projects")[0]["partitions"][int(told[1])]["items"]
    tour.post("/learn/ring", organisation="pqr678", name="Another", owner="kim")
    assert db.inspect("projects")[0]["partitions"][int(told[1])]["items"] == before + 1


def test_a_key_is_on_the_ring_at_its_hash(db: hashrange.Database) -> None:
    [table] = db.inspect("projects")
    laid_out = ring(table)
    assert [round(arc.length) for arc in laid_out.arcs] == [250] * 4
    items = {arc.number: 0 for arc in laid_out.arcs}
    for dot in laid_out.dots:
        [partition] = dot.partitions
        items[partition] += dot.items
    assert items == {each["number"]: each["items"] for each in table["partitions"]}


def test_values_are_escaped(tour: Browserless) -> None:
    put = tour.post("/learn/ring", organisation=HOSTILE, name=HOSTILE, owner=HOSTILE)
    page = tour.ask(put.headers["location"]).text
    assert "<script>window" not in page
    assert "&lt;script&gt;window.hit=1&lt;/script&gt;" in page
    assert "U+202E" in page


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/learn/ring", {"organisation": "", "name": "x", "owner": "x"}),
        ("/learn/ring", {"organisation": "x" * 3000, "name": "x", "owner": "x"}),
        ("/learn/writes", {"write": "other", "size": "0"}),
        ("/learn/writes", {"write": "place", "size": "999999"}),
        ("/learn/indexes", {"order": "none"}),
        ("/learn/reads?sensor=none", None),
        ("/learn/indexes?question=none", None),
        ("/learn/hot?run=1&rate=1000000&keys=1", None),
    ],
)
def test_what_cannot_be_done_is_told(
    tour: Browserless, path: str, form: dict[str, str] | None
) -> None:
    answer = tour.ask(path) if form is None else tour.post(path, **form)
    assert answer.status == 400
    assert 'role="alert"' in answer.text


def test_a_scan_reads_more_and_returns_the_same(tour: Browserless) -> None:
    page = text_of(tour.ask("/learn/reads?sensor=s-7&hours=1").text)
    read = [int(count.replace(",", "")) for count in re.findall(r"items read ([\d,]+)", page)]
    returned = re.findall(r"items returned (\d+)", page)
    assert read == [20, 980]
    assert returned == ["20", "20"]
    for told, consumed in re.findall(r"([\d.]+) predicted, ([\d.]+) consumed", page):
        assert told == consumed


@pytest.mark.parametrize(
    ("write", "size", "table", "index"),
    [
        ("place", "0", "1", "1"),
        ("move", "0", "1", "2"),
        ("ship", "0", "1", "1"),
        ("note", "0", "1", "0"),
        ("rename", "3", "4", "4"),
        ("price", "20", "21", "0"),
        ("stock", "20", "1", "0"),
    ],
)
def test_the_table_and_the_index_pay(
    tour: Browserless, write: str, size: str, table: str, index: str
) -> None:
    for _ in range(2):  # each run begins with the same item
        page = text_of(tour.post("/learn/writes", write=write, size=size).text)
        assert f"the table {table} " in page
        assert f"the index unfulfilled {index} " in page
        told = re.search(r"(\d+) were predicted by explain, (\d+) were consumed", page)
        assert told
        assert told[1] == told[2] == str(int(table) + int(index))


def test_a_question_reads_an_interval_of_the_index(tour: Browserless) -> None:
    page = tour.ask("/learn/indexes?question=sit").text
    assert "2 entries read, 2 returned" in text_of(page)
    assert page.count('<tr class="read"><td>→') == 2


def test_an_order_leaves_the_sparse_index_and_comes_back(
    tour: Browserless, db: hashrange.Database
) -> None:
    def entries() -> int:
        [index] = db.inspect("shop")[0]["indexes"]
        return int(index["items"])

    before = entries()
    assert tour.post("/learn/indexes", order="o-3").status == 303
    assert entries() == before - 1
    tour.post("/learn/indexes", order="o-3")
    assert entries() == before


def test_a_hot_key_is_refused_and_many_keys_are_not(tour: Browserless) -> None:
    page = text_of(tour.ask("/learn/hot?run=1&rate=16&keys=1").text)
    assert "600 written, 360 refused" in page
    assert "TableWriteKeyRangeThroughputExceeded" in page
    assert "960 written, 0 refused" in text_of(tour.ask("/learn/hot?run=1&rate=16&keys=16").text)


def test_the_tour_ends_at_a_first_model(tour: Browserless, tmp_path: Path) -> None:
    assert "Next: design a table" in tour.ask("/learn/collection").text
    assert "class Order(st.Item)" in tour.ask("/learn/ending").text
    (tmp_path / "shop.py").write_text(model())
    [table] = tables_of(tmp_path / "shop.py")
    assert not table.unserved
    assert not lint(table).failed


def test_the_command_opens_the_tour() -> None:
    with started("learn", "--port", "0") as (process, console):
        assert "/learn?token=" in console.url
        assert "Where an item lies" in console.ask("/learn").text
        assert "sensor-management" in console.ask("/").text
        process.terminate()
        assert process.wait(SECONDS_MAX) == 0


def test_the_steps_in_a_browser(tour: Browserless, browser: Any) -> None:
    """Each step is done by its button, on a wide and on a narrow window."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS_MAX)
    reported: list[str] = []
    page.on("console", lambda said: reported.append(said.text) if said.type == "error" else None)
    page.goto(tour.url.replace("/?", "/learn?"))
    page.get_by_role("link", name="Begin").click()
    for step in STEPS:
        page.wait_for_url(f"**/learn/{step}")
        page.locator("main button.main").first.click()
        page.locator("[role=status]").first.wait_for()
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, f"{step} is wider than {width}"
        page.keyboard.press("Escape")
        if step != STEPS[-1]:
            page.keyboard.press("n")
    assert reported == []
    context.close()


def ran(tour: Browserless, step: str, **given: str) -> str:
    choices = "&".join(f"{name}={value}" for name, value in given.items())
    return text_of(tour.ask(f"/learn/{step}?run=1&{choices}").text)


def test_a_burst_is_spent_and_regained(tour: Browserless) -> None:
    assert "The burst lasted for about 30 seconds, 1,800 refused" in ran(tour, "burst", rest="60")
    assert "There was no burst" in ran(tour, "burst", rest="0")


def test_a_split_helps_if_there_are_many_keys(tour: Browserless) -> None:
    many, among, one = (split.simulate(keys) for keys in split.KEYS)
    assert (many["partitions"], many["last"]) == (2, 0)
    assert among["partitions"] == 3
    assert 0 < among["last"] < one["last"]
    assert (one["partitions"], one["last"]) == (1, 4)
    assert "One key cannot be divided" in ran(tour, "split", keys="one")


def test_an_index_drains_like_a_queue(tour: Browserless) -> None:
    shown = [row["shown"] for row in behind.simulate(10)["rows"]]
    steps = {later - earlier for earlier, later in pairwise(shown[:-1])}
    assert steps == {behind.INDEX_UNITS * behind.STEP}
    assert "IndexWriteProvisionedThroughputExceeded" in ran(tour, "behind", load="30")


def test_a_stale_read_comes_back_unless_it_is_consistent(tour: Browserless) -> None:
    assert "5 of 12 reads were old" in ran(tour, "stale", kind="eventual", again="1")
    assert "0 of 12 reads were old" in ran(tour, "stale", kind="strong", again="1")


def test_a_collection_with_a_local_index_has_a_limit(tour: Browserless) -> None:
    page = ran(tour, "collection", kind="local")
    assert "ItemCollectionSizeLimitExceededException" in page
    assert "begin within the chat" not in page
    page = ran(tour, "collection", kind="none")
    assert "30 messages" in page
    assert "3 of which begin within the chat" in page


@pytest.mark.parametrize("step", ["burst", "split", "behind", "stale", "collection"])
def test_other_choices_are_refused(tour: Browserless, step: str) -> None:
    bad = "&".join(f"{name}=%F0" for name in ("rest", "keys", "load", "kind", "again"))
    assert tour.ask(f"/learn/{step}?run=1&{bad}").status == 400
