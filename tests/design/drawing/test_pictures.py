"""Pictures show the items, the holes of sparse indexes and what each pattern reads."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.drawing.draw import views
from hashrange.design.drawing.page import page
from hashrange.design.drawing.svg import columns, cut
from hashrange.design.tools.sample_items import sample_items

from ..models import GET_A, ORDER, ORDERS, A, item, model, patterns
from ..test_examples import example

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = [
    ("organisations", "projects"),
    ("orders", "table"),
    ("sensors", "table"),
    ("animals", "table"),
    ("chat", "table"),
    ("repositories", "table"),
    ("tasks", "table"),
]


def texts(picture: str) -> list[str]:
    """The texts of a picture, which has to be well-formed XML."""
    root = ElementTree.fromstring(picture)
    return ["".join(t for t in e.itertext()) for e in root.iter(f"{SVG}text")]


def count(picture: str, style: str) -> int:
    root = ElementTree.fromstring(picture)
    return sum(style in e.get("class", "").split() for e in root.iter())


def wire(**values: str) -> dict[str, Any]:
    return {name: {"S": value} for name, value in values.items()}


@pytest.mark.parametrize(("name", "attribute"), EXAMPLES)
def test_every_view_of_the_examples_is_drawn_twice_the_same(name: str, attribute: str) -> None:
    table = getattr(example(name), attribute)
    again = getattr(example(name), attribute)
    for view in views(table):
        picture = st.draw(table, view)
        assert texts(picture)
        assert picture == st.draw(again, view)


@pytest.mark.parametrize(("name", "attribute"), EXAMPLES)
def test_each_pattern_has_one_mark_in_the_views(name: str, attribute: str) -> None:
    table = getattr(example(name), attribute)
    sources = [view for view in views(table) if view not in ("entities", "patterns")]
    legends = [text for view in sources for text in texts(st.draw(table, view))]
    for plan in table.plans.values():
        begin = f"{plan.pattern.title}{plan.pattern.name}("
        assert sum(text.startswith(begin) for text in legends) == 1, begin


def test_the_table_shows_the_items_of_each_partition_in_order() -> None:
    table = model(ORDER + patterns(ORDERS, of="O"))
    items = [
        wire(pk="c#1", sk="o#2", entityType="O", c="1", o="2"),
        wire(pk="c#1", sk="o#1", entityType="O", c="1", o="1"),
        wire(pk="c#0", sk="o#9", entityType="O", c="0", o="9"),
    ]
    shown = texts(st.draw(table, "table", items))
    assert [text for text in shown if re.match("[co]#", text)] == (
        ["c#0", "o#9", "c#1", "o#1", "o#2"]
    )
    assert any("orders('1')" in text and "reads 2 items" in text for text in shown)


def test_a_sparse_index_shows_what_it_leaves_out() -> None:
    sparse = item(
        "A",
        "'a#{id}', 'info'",
        "id: st.Slug; x: st.Slug | None = None",
        "by_x = st.index('GSI1', 'x#{x}', 'a#{id}')",
    )
    table = model(sparse + patterns(GET_A, "def by_x(self, x: str) -> st.Query[A]: ..."))
    key = wire(pk="a#1", sk="info", entityType="A", id="1", x="9")
    items = [
        {**key, **wire(**{"GSI1-pk": "x#9", "GSI1-sk": "a#1"})},
        wire(pk="a#2", sk="info", entityType="A", id="2"),
    ]
    whole = st.draw(table, "table", items)
    assert count(whole, "hole") == 3  # x and the two attributes of the index's key
    index = st.draw(table, "GSI1", items)
    shown = texts(index)
    assert "x#9" in shown
    assert "Not in GSI1" in shown
    assert any(text.endswith("a#2 · info") for text in shown)
    assert "no GSI1-pk, GSI1-sk" in shown


def test_items_that_a_filter_drops_are_rings() -> None:
    filtered = patterns(
        "@st.where('s = :s')\ndef orders(self, c: str, s: str) -> st.Query[O]: ...", of="O"
    )
    table = model(ORDER + filtered)
    items = [
        wire(pk="c#1", sk=f"o#{n}", entityType="O", c="1", o=str(n), s="ab"[n % 2])
        for n in range(4)
    ]
    picture = st.draw(table, "table", items)
    assert count(picture, "ring") == 2
    assert any("reads 4 items, returns 2" in re.sub(r"\s+", " ", t) for t in texts(picture))


def test_the_limit_of_the_latest_item_is_one_row() -> None:
    latest = "@st.latest\ndef last(self, c: str) -> O | None: ..."
    table = model(ORDER + patterns(latest, of="O"))
    items = [wire(pk="c#1", sk=f"o#{n}", entityType="O", c="1", o=str(n)) for n in range(3)]
    picture = st.draw(table, "table", items)
    assert any("reads 1 item" in text for text in texts(picture))
    assert count(picture, "disc") == 2  # beside the row, and in the legend


@pytest.mark.parametrize(
    "value",
    [
        "<script>alert(1)</script>",
        "]]>&amp;\"'",
        "\x00\x1b[31m\x7f\ud800",
        "\u202egnp.exe",
        "line\nbreak",
        "漢字" * 40,
        "x" * 5000,
    ],
    ids=["script", "markup", "control", "direction", "lines", "wide", "long"],
)
def test_hostile_and_long_values_are_shown_escaped_and_cut(value: str) -> None:
    table = model(A + patterns(GET_A))
    items = [wire(pk="a#1", sk="info", entityType="A", id="1", x=value, **{value: "y"})]
    for document in (st.draw(table, "table", items), page([table], {"app": items})):
        assert "<script" not in document
        assert "\u202e" not in document
        document.encode()
    picture = st.draw(table, "table", items)
    assert texts(picture)
    width = float(re.findall(r'width="([\d.]+)"', picture)[0])
    assert width < 1500


def test_items_of_unknown_entities_are_drawn() -> None:
    table = model(A + patterns(GET_A))
    shown = texts(st.draw(table, "table", [wire(pk="z", sk="z", other="thing")]))
    assert "unknown" in shown
    assert "thing" in shown


def test_an_unknown_view_is_refused() -> None:
    table = model(A + patterns(GET_A))
    with pytest.raises(st.DesignError, match="did you mean 'table'"):
        st.draw(table, "tabel")


def test_the_chart_of_entities_draws_direct_relations_only() -> None:
    table = example("sensors").table
    picture = st.draw(table, "entities")
    shown = texts(picture)
    assert {"Building", "Floor", "Room", "Sensor", "Measurement"} <= set(shown)
    lines = [e.get("d", "") for e in ElementTree.fromstring(picture).iter(f"{SVG}path")]
    assert sum("C" in line for line in lines) == 4  # a chain of five entities


def test_patterns_without_a_key_or_index_are_shown() -> None:
    table = model(A + patterns(GET_A, "def by_x(self, x: str) -> st.Query[A]: ..."))
    shown = texts(st.draw(table, "patterns"))
    assert "1 of 2 served" in shown
    assert "No key or index serves these" in shown


def test_a_page_has_every_view() -> None:
    table = example("sensors").table
    document = page([table])
    assert document.count("<svg") == len(views(table))
    assert all(f'id="sensor-management-{view}"' in document for view in views(table))


def test_samples_are_stored_as_they_are_drawn(database: hashrange.Database) -> None:
    """The drawn items are those that a store would have written."""
    chat = example("chat")
    chat.table.create(database)
    for raw in sample_items(chat.table):
        assert chat.table.dump(chat.table.load(raw)) == raw


def test_text_is_cut_by_the_cells_that_it_takes() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "ab…"
    assert columns(cut("漢字漢字", 5)) <= 5
