"""`st.prove` finds mistakes of the toolkit, since its oracle shares nothing with the plans.

Each case plants a mistake in one place of the toolkit, and all of them are found in one model of
people who follow each other.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from planting import Bug, bug_in

import hashrange
from hashrange import design as st
from hashrange.design.declare import conditions
from hashrange.design.declare.conditions import BoundCondition
from hashrange.design.declare.references import Reference, References
from hashrange.design.declare.shapes import Shapes
from hashrange.design.execute.reads.request_builder import RequestBuilder
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.writer import Writer
from hashrange.design.plan import children, planner
from hashrange.design.tools import proof

from ..models import model

MODEL = """
class User(st.Item):
    key = st.key("user#{user_id}", "info")
    user_id: st.Slug
    name: str

class Follow(st.Item):
    key = st.key("user#{follower}", "follows#{followed}")
    of_followed = st.index("GSI1", "followed#{followed}", "by#{follower}")
    muted = st.index("GSI2", "muted#{follower}", "{followed}", when="loud = :no", no=False)
    follower: Annotated[st.Slug, st.ref(User)]
    followed: Annotated[st.Slug, st.ref(User)]
    loud: bool = True
    weight: int = 0
    name: str = st.copy(User, "name", sync="transaction", by="follower")

class Post(st.Item, shape=2):
    key = st.key("user#{author}", "post#{at:%Y-%m-%d}#{post_id}")
    author: Annotated[st.Slug, st.ref(User)]
    at: datetime
    post_id: st.Slug
    text: str

    @staticmethod
    @st.upgrade(from_version=1)
    def renamed(raw):
        return {"text": raw.pop("message").upper() + "!", **raw}

class P(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    @st.through(Follow)
    def followed_by(self, follower: str) -> st.Query[User]: ...
    @st.through(Follow)
    def followers_of(self, followed: str) -> st.Query[User]: ...
    @st.counts(Follow)
    def number_of_followed(self, follower: str) -> int: ...
    @st.where("weight >= :least AND NOT loud = :no")
    def heavy(self, follower: str, least: int, no: bool) -> st.Query[Follow]: ...
    @st.using(Follow.muted)
    def quiet(self, follower: str) -> st.Query[Follow]: ...
    @st.latest
    def posts(self, author: str) -> st.Query[Post]: ...
    def posts_since(self, author: str, at: st.AtLeast[date]) -> st.Query[Post]: ...

table = st.Table("graph", P)
"""


def always(owner: Any, name: str, result: Any) -> Bug:
    return bug_in(owner, name, lambda *_, **__: result)


def changed(owner: Any, name: str, change: Callable[[Any], Any]) -> Bug:
    """The function's result is changed."""
    right = getattr(owner, name)
    return bug_in(owner, name, lambda *a, **k: change(right(*a, **k)))


def with_other_text(old: str, new: str) -> Bug:
    """The toolkit reads another condition than the one that is written."""
    right = conditions.parse
    return bug_in(conditions, "parse", lambda text, *rest: right(text.replace(old, new), *rest))


def first_reference(pattern: Any, relation: Any, followed: Any, model: Any) -> Any:
    return model.references.between(relation, followed)[0].held


def swapped(found: Any) -> Any:
    """Each copy follows the other reference to its owner."""
    others = {"follower": "followed", "followed": "follower"}
    return Reference(found.child, found.parent, {p: others[n] for p, n in found.held.items()})


def forward(request: Any) -> Any:
    for _, one in request:
        one.pop("ScanIndexForward", None)
    return request


def one_more(steps: Any) -> Any:
    return (yield from steps) + 1


def half(found: Iterator[Reference]) -> list[Reference]:
    kept = {one.child.name: one for one in found}
    return list(kept.values())


def forgotten(self: Any, raw: Any, values: Any, key: Any) -> Any:
    """An upgrade is not called; the class takes what it knows."""
    return {"text": "", **values}


PLANTED: dict[str, tuple[Bug, str]] = {
    "through follows the first reference": (
        bug_in(planner, "held_key", first_reference),
        "P.followed_by",
    ),
    "delete_tree leaves half of the edges": (
        changed(children, "_below", half),
        "delete_tree(User)",
    ),
    "delete_tree finds no children": (always(children, "_below", []), "delete_tree(User)"),
    "a count includes the item itself": (
        changed(StoreSteps, "count", one_more),
        "P.number_of_followed",
    ),
    "where compares otherwise": (with_other_text(">=", ">"), "P.heavy"),
    "where forgets NOT": (with_other_text("NOT", ""), "P.heavy"),
    "an index holds items that its condition excludes": (
        always(BoundCondition, "matches", True),
        "P.quiet",
    ),
    "copies are not updated": (always(Writer, "_renamed", frozenset()), "copies"),
    "copies follow the other reference": (changed(References, "of_copy", swapped), "Follow.name"),
    "an old item is read as it is": (
        bug_in(Shapes, "upgraded", forgotten),
        "P.post",
    ),
    "the oldest comes first": (changed(RequestBuilder, "queries", forward), "P.posts"),
}
ORACLE = ("declared", "oracle", "plain_conditions")
ALLOWED = (
    "declare.derived",
    "declare.item",
    "declare.markers",
    "declare.patterns",
    "declare.types",
    "tools.proof.",
)


def test_the_model_is_right(database: hashrange.Database) -> None:
    found = st.prove(model(MODEL), database)
    assert not found.failed, found
    assert found.asked["delete_tree(User)"]
    assert found.asked["copies"]
    assert found.asked["shape 1 of Post"]
    assert not found.untested


@pytest.mark.deep
@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, database: hashrange.Database) -> None:
    planted, where = PLANTED[bug]
    with planted:
        found = st.prove(model(MODEL), database)
    assert any(line.startswith(where) for line in found.differences), found


def test_the_oracle_shares_no_resolution_with_the_toolkit() -> None:
    for name in ORACLE:
        source = (Path(proof.__path__[0]) / f"{name}.py").read_text()
        nodes = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ImportFrom))
        imported = {node.module for node in nodes if (node.module or "").startswith("hashrange")}
        allowed = tuple(f"hashrange.design.{module}" for module in ALLOWED)
        assert all(module and module.startswith(allowed) for module in imported), name


def test_a_question_that_no_item_fits_shows_nothing(database: hashrange.Database) -> None:
    never = MODEL.replace("NOT loud = :no", "loud = :no AND NOT loud = :no")
    found = st.prove(model(never), database)
    assert [line.split(":")[0] for line in found.differences] == ["P.heavy"]


def test_items_that_an_index_leaves_out_are_counted(database: hashrange.Database) -> None:
    text = """
class A(st.Item):
    key = st.key("a#{id}", "info")
    by = st.index("GSI1", "x#{x}", "{y}")
    id: st.Slug
    x: st.Slug
    y: st.Slug | None = None

class P(st.Store, Protocol):
    def by_x(self, x: str) -> st.Query[A]: ...

table = st.Table("app", P)
"""
    found = st.prove(model(text), database)
    assert not found.failed
    assert found.left_out["P.by_x"] > 0
    assert "items that match the arguments are not in the index" in str(found)
