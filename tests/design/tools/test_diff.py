"""What a change of a model means for stored items, change by change."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from command_line import command_line

import hashrange
from hashrange import design as st

from ..models import PRELUDE, A, item, model, patterns
from .test_tools import command

OLD = item(
    "A",
    "'a#{id}', 'info'",
    "id: st.Slug; x: str = ''; n: int = 0; note: str | None = None",
    "by_x = st.index('GSI1', 'x#{x}', 'a#{id}')",
)
GET_A = "def a(self, id: str) -> A | None: ..."
REST = patterns(GET_A, table=", volumes=st.volumes(A=st.total(1_000_000, size=1500))")
CASES = {
    "the same": ("", "", "nothing", ""),
    "a new field": ("n: int = 0", "n: int = 0\n    m: int = 0", "additive", "A.m: a new field"),
    "a required field": ("n: int = 0", "n: int = 0\n    m: int", "backfill", "A.m: it is required"),
    "a field less": ("n: int = 0\n", "\n", "nothing", "A.n: it is removed"),
    "another type": ("n: int = 0", "n: str = '0'", "backfill", "stored as S, not as N"),
    "no longer None": ("note: str | None = None", "note: str = ''", "backfill", "A.note"),
    "may be None": ("x: str = ''", "x: str | None = None", "nothing", ""),
    "a constraint": (
        "n: int = 0",
        "n: Annotated[int, Field(ge=0)] = 0",
        "backfill",
        "A.n: its type or its",
    ),
    "a constraint less": ("id: st.Slug", "id: str", "nothing", ""),
    "a reference": ("x: str = ''", "x: Annotated[str, st.ref('A')] = ''", "nothing", ""),
    "a constraint of a text or None": (
        "note: str | None",
        "note: Annotated[str, Field(max_length=3)] | None",
        "backfill",
        "A.note: its type or its",
    ),
    "an alias": ("n: int = 0", "n: int = Field(0, alias='m')", "backfill", "n becomes m"),
    "another primary key": (
        "'a#{id}', 'info'",
        "'a#{id}', 'meta'",
        "new keys",
        "becomes a#{id} / meta",
    ),
    "another index key": ("'x#{x}'", "'y#{x}'", "backfill", "its key in GSI 1"),
    "a condition": ("'a#{id}')", "'a#{id}', when='n = :o', o=1)", "backfill", "its key in GSI 1"),
    "another projection": (
        "'a#{id}')",
        "'a#{id}', project='KEYS_ONLY')",
        "additive",
        "dropped and",
    ),
    "an index less": ("by_x = st.index('GSI1', 'x#{x}', 'a#{id}')", "pass", "additive", "dropped"),
    "a computed index": (
        "by_x =",
        "by_n = st.index('GSI2', 'n#{n}')\n    by_x =",
        "backfill",
        "attributes of GSI 2",
    ),
    "a natural index": (
        "by_x =",
        "by_n = st.index('GSI2', st.attr('n'))\n    by_x =",
        "additive",
        "DynamoDB builds it",
    ),
    "a local index": (
        "by_x =",
        "by_n = st.local('LSI1', st.attr('n'))\n    by_x =",
        "new keys",
        "local index is added",
    ),
    "a unique text": (
        "by_x =",
        "u = st.unique('{x}')\n    by_x =",
        "backfill",
        "st.rebuild_markers",
    ),
    "another class": ("class A(", "class A2(", "backfill", 'name="A"'),
    "another class of the same name": (
        "class A(st.Item)",
        "class A2(st.Item, name='A')",
        "nothing",
        "",
    ),
    "another table": ("'app'", "'app2'", "new keys", "app becomes app2"),
    "a stream": ("'app', P", "'app', P, stream=True", "additive", "a stream is switched on"),
    "another type attribute": ("'app', P", "'app', P, type_attribute='t'", "backfill", "by t, not"),
}


@pytest.mark.parametrize("case", CASES)
def test_change(case: str) -> None:
    before, after, kind, message = CASES[case]
    text = OLD + REST
    assert before in text
    changed = text.replace(before, after)
    if "A2" in after:
        changed = changed.replace("-> A ", "-> A2 ").replace("(A=", "(A2=")
    found = st.diff(model(text), model(changed))
    assert found.kind == kind, found
    assert found.needs_work == (kind in ("backfill", "new keys"))
    assert found.safe == (kind in ("nothing", "additive"))
    assert message in str(found)


SHOP = """
class U(st.Item):
    key = st.key("u#{id}", "info")
    id: st.Slug
    name: str = ""
    email: str = ""

class O(st.Item):
    key = st.key("u#{id}", "o#{at}#{number:05d}")
    by_number = st.index("GSI1", "n#{number:05d}", "{at}")
    id: Annotated[st.Slug, st.ref(U)]
    at: datetime
    number: int = Field(0, ge=0)
    name: str = st.copy(U, "name", sync="transaction")

class V(st.View[O]):
    id: str
    at: datetime
    number: int

class P(st.Store, Protocol):
    def user(self, id: str) -> U | None: ...
    def orders(self, id: str, at: st.AtLeast[datetime] | None = None) -> st.Query[O]: ...
    @st.latest
    def newest(self, id: str) -> st.Query[O]: ...
    @st.where("name = :name")
    def named(self, id: str, name: str) -> st.Query[O]: ...
    @st.consistent
    def views(self, id: str) -> st.Query[V]: ...
    def by_number(self, number: int) -> st.Query[O]: ...

table = st.Table("shop", P, stream=True)
"""
BREAKS = {
    "a pattern less": ("    def by_number(self, number: int) -> st.Query[O]: ...\n", "",
                       "breaking", "P.by_number: it is removed"),
    "a reversed order": ("    @st.latest\n", "", "breaking", "P.newest: .* opposite order"),
    "another filter": ('"name = :name"', '"name <> :name"', "breaking", "P.named: its filter"),
    "no longer consistent": ("    @st.consistent\n", "", "breaking", "P.views: it can miss"),
    "a view with fewer fields": ("    at: datetime\n    number: int\n\nclass P",
                                 "    at: datetime\n\nclass P",
                                 "breaking", "P.views: its results have no number"),
    "another result": ("self, id: str) -> st.Query[V]", "self, id: str) -> st.Query[U | O]",
                       "breaking", "P.views: it returns U too"),
    "an argument less": (", at: st.AtLeast[datetime] | None = None", "", "breaking",
                         "P.orders: its argument 'at' is removed"),
    "another operator": ("st.AtLeast", "st.After", "breaking", "'at' means something else"),
    "a required argument": ("st.AtLeast[datetime] | None = None", "st.AtLeast[datetime]",
                            "breaking", "P.orders: its argument 'at' is required"),
    "a stream less": (", stream=True", "", "breaking", "table: the stream is switched off"),
    "another source of a copy": ('st.copy(U, "name"', 'st.copy(U, "email"', "backfill",
                                 "O.name: its source U.name becomes U.email: run db.sync"),
    "a copy that the stream left behind": ("transaction", "batch", "nothing", ""),
    "an index that is read": ('"{at}")', '"{at}", project=("id", "at", "name"))', "breaking",
                              "meanwhile nothing serves P.by_number: add it under another name"),
    "a rename by an alias": ("    number: int = Field(0, ge=0)",
                             "    no: int = Field(0, ge=0, alias='number')", "nothing",
                             "O.no: it was called number, and is stored in the same way"),
    "a key of another type": ("    at: datetime\n    number: int = F",
                              "    at: date\n    number: int = F", "new keys",
                              "at}datetime.* becomes .*at}date"),
    "another condition": ('"{at}")', '"{at}", when="number > :n", n=5)', "backfill",
                          "in GSI 1 without a condition becomes when"),
    "an entity for another": ("class U", "class W", "backfill", 'name="U"'),
}  # fmt: skip


@pytest.mark.parametrize("case", BREAKS)
def test_what_programs_notice(case: str) -> None:
    before, after, kind, message = BREAKS[case]
    assert before in SHOP
    text = SHOP.replace(before, after)
    if case == "a rename by an alias":
        text = text.replace("{number:05d}", "{no:05d}").replace(
            "self, number: int", "self, number: Annotated[int, st.equal('no')]"
        )
        text = text.replace("    number: int\n\n", "    no: int\n\n").replace("[V]", "[O]")
    if case == "an entity for another":
        text = text.replace("(U", "(W").replace("-> U ", "-> W ")
    if case == "a key of another type":
        text = text.replace("datetime", "date")
    old = SHOP.replace("[V]", "[O]") if case == "a rename by an alias" else SHOP
    found = st.diff(model(old), model(text))
    assert found.kind == kind, found
    assert found.safe == (kind == "nothing")
    assert re.search(message, str(found)), found
    for line in str(found).splitlines():
        was, _, now = line.partition(" becomes ")
        assert not now or not was.endswith(now)


def test_an_entity_dropped_while_another_is_added() -> None:
    b = item("B", "'b#{b_id}', 'info'", "b_id: st.Slug; z: int = 0")
    found = st.diff(model(A + patterns()), model(b + patterns(of="B")))
    assert found.kind == "breaking"
    assert "declare their entity, e.g. class B(..., name='A')" in str(found)


def test_an_upgrade_on_read_needs_no_backfill() -> None:
    new = OLD.replace("n: int = 0", "n: str").replace("st.Item)", "st.Item, shape=2)")
    new = new.replace("by_x =", "@staticmethod\n    @st.upgrade(from_version=1)\n"
                      "    def one(values: dict) -> dict: return values\n    by_x =")  # fmt: skip
    found = st.diff(model(OLD + REST), model(new + REST))
    assert found.kind == "nothing"
    assert "upgraded when they are read" in str(found)


def test_new_and_removed_entities() -> None:
    b = item("B", "'b#{id}', 'info'", "id: st.Slug")
    one, two = model(A + patterns()), model(A + b + patterns(table=", B"))
    assert str(st.diff(one, two)) == "additive: B: a new entity\napp: additive"
    assert "reads leave them out" in str(st.diff(two, one))


def test_numbers_of_items_and_their_cost() -> None:
    """A million items of 1,500 bytes: 2 write units each, and a Scan of 1.4 GB."""
    old = model(OLD + REST)
    [change] = st.diff(old, model((OLD + REST).replace("'x#{x}'", "'y#{x}'"))).changes
    assert change.items == 1_000_000
    assert change.usd == pytest.approx(
        2 * 0.625 + 1_000_000 * 1500 / 4096 / 2 / 1e6 * 0.125, rel=1e-3
    )
    moved = st.diff(old, model((OLD + REST).replace("'info'", "'meta'"))).changes[0]
    assert moved.usd is not None
    assert moved.usd > 2 * 2 * 0.625


def test_what_is_called_nothing_can_still_be_read(database: hashrange.Database) -> None:
    old = model(OLD + REST)
    text = (OLD + REST).replace("x: str = ''", "x: str | None = None")
    new = model(text.replace("n: int = 0", ""))
    old.create(database)
    [entity] = old.model.entities
    old.open(old.protocols[0], database).put(
        entity.model.model_validate({"id": "1", "n": 5, "x": "y"})
    )
    assert st.diff(old, new).kind == "nothing"
    assert new.open(new.protocols[0], database).a("1") is not None


def test_the_command(tmp_path: Path) -> None:
    files = {}
    for name, change in {"old": "", "same": "", "more": "\n    m: int = 0"}.items():
        files[name] = tmp_path / f"{name}.py"
        files[name].write_text(PRELUDE + OLD.replace("n: int = 0", f"n: int = 0{change}") + REST)
    files["moved"] = tmp_path / "moved.py"
    files["moved"].write_text(PRELUDE + (OLD + REST).replace("'info'", "'meta'"))
    files["wrong"] = tmp_path / "wrong.py"
    files["wrong"].write_text("import nowhere")

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return command_line("design", "diff", *arguments)

    same = run(str(files["old"]), str(files["same"]))
    assert (same.returncode, same.stdout) == (0, "app: nothing\n")
    assert run(str(files["old"]), str(files["more"])).returncode == 0
    moved = run(str(files["old"]), str(files["moved"]), "--json")
    assert moved.returncode == 1
    assert json.loads(moved.stdout)["kind"] == "new keys"
    wrong = run(str(files["old"]), str(files["wrong"]))
    assert wrong.returncode == 1
    assert wrong.stderr.count("\n") == 1


OWN_TYPES = """
from enum import Enum
from pydantic import AfterValidator, BaseModel


class Colour(Enum):
    red = "RED"


class Part(BaseModel):
    colour: Colour
    size: Annotated[int, Field(ge=0)]


def lowered(text: str) -> str:
    return text.lower()


class B(st.Item):
    key = st.key("b#{b}", "info")
    b: Annotated[st.Slug, AfterValidator(lowered)]
    a: Annotated[st.Slug, st.ref(A)]
    colour: Colour | None = None
    state: Literal['a'] = 'a'
    parts: list[Part] = []
"""


@pytest.mark.parametrize(
    ("before", "after", "output"),
    [
        ("", "", "app: nothing\n"),
        (".lower()", ".upper()", "backfill: B.b: its type"),
        ('"RED"', '"R"', "backfill: B.colour: not all stored values"),
        ("Literal['a']", "Literal['b']", "backfill: B.state: not all stored values"),
        ("Literal['a']", "Literal['a', 'b']", "app: nothing\n"),
        ("ge=0", "ge=1", "backfill: B.parts: its type"),
    ],
)
def test_types_of_two_files_are_compared_by_what_they_allow(
    before: str, after: str, output: str, tmp_path: Path
) -> None:
    text = PRELUDE + A + OWN_TYPES + patterns(table=", B")
    (tmp_path / "old.py").write_text(text)
    (tmp_path / "new.py").write_text(text.replace(before, after) if before else text)
    done = command("diff", str(tmp_path / "old.py"), str(tmp_path / "new.py"))
    assert output in done.stdout, done.stderr
