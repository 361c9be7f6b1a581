"""An argument of a union can be compared with a field of another name in each entity."""

from typing import Annotated, Protocol

import pytest

import hashrange
from hashrange import design as st

from ..models import model


class User(st.Item):
    key = st.key("user#{login}", "info")

    login: st.Slug


class Repository(st.Item):
    key = st.key("repo#{owner}#{name}", "info")
    of_owner = st.index("GSI1", "owner#{owner}", "repo#{name}")

    owner: Annotated[st.Slug, st.ref(User)]
    name: st.Slug


class Gist(st.Item):
    key = st.key("gist#{gist_id}", "info")
    of_author = st.index("GSI1", "owner#{author}", "gist#{gist_id}")

    gist_id: st.Slug
    author: Annotated[st.Slug, st.ref(User)]


class Site(st.Store, Protocol):
    def work(
        self, login: Annotated[str, st.equal(Repository="owner", Gist="author")]
    ) -> st.Query[Repository | Gist]: ...


table = st.Table("site", Site, User)


def test_a_union_reads_both(database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Site, database)
    repository = db.put(Repository(owner="ann", name="a"))
    gist = db.put(Gist(gist_id="1", author="ann"))
    db.put(Gist(gist_id="2", author="bob"))
    assert list(db.work("ann")) == [gist, repository]


def test_the_plan_is_one_query() -> None:
    assert "GSI1-pk=owner#{owner}" in str(table.plan())


def test_prove(database: hashrange.Database) -> None:
    proof = st.prove(table, database)
    assert not proof.failed, proof


UNION = """
class A(st.Item):
    key = st.key("a#{{x}}", "a#{{n}}")
    x: st.Slug
    n: st.Slug

class B(st.Item):
    key = st.key("a#{{y}}", "b#{{n}}")
    y: st.Slug
    n: st.Slug

class P(st.Store, Protocol):
    def both(self, {argument}) -> st.Query[A | B]: ...

table = st.Table("app", P)
"""


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("x: Annotated[str, st.equal(C='y')]", "the pattern returns no C"),
        ("x: Annotated[str, st.equal(B='z')]", "'x' is not a field"),
        ("x: str", "'x' is not a field"),
    ],
)
def test_wrong_names_are_refused(argument: str, message: str) -> None:
    with pytest.raises(st.DeclarationError, match=message):
        model(UNION.format(argument=argument))


def test_other_values_are_not_mixed_up() -> None:
    """A key by `y` does not serve an argument that is compared with `n`."""
    text = UNION.format(argument="x: Annotated[str, st.equal(B='n')]")
    table = model(text.replace("a#{y}", "a#{n}").replace("b#{n}", "b#{y}"))
    assert not table.unserved
    assert model(text).unserved
