"""st.ref says which entity a field identifies, so that nothing is guessed from names."""

import pytest

import hashrange
from hashrange import design as st

from ..models import item, model, patterns

MEMBER = item("M", "'s#{server}', 'u#{user}'", "server: st.Slug; user: st.Slug")
USER = item("U", "'u#{user_id}', 'info'", "user_id: st.Slug")
FLOOR = item("F", "'b#{building_id}', 'f#{floor_id}'", "building_id: st.Slug; floor_id: st.Slug")


def k16(text: str) -> list[str]:
    return [f.where for f in st.lint(model(text)).findings if f.rule == "K16"]


def note(fields: str, index: str) -> str:
    return item("N", "'n#{id}', 'info'", f"id: st.Slug; {fields}", f"i = st.index('GSI1', {index})")


def test_a_field_that_is_only_called_like_another_is_no_finding() -> None:
    text = MEMBER + note("user: st.Slug", "'u#{user}', '{id}'") + patterns(of="N", table=", M")
    assert k16(text) == []


def test_a_reference_to_a_whole_identity_is_no_finding() -> None:
    text = USER + MEMBER + note("user: Annotated[st.Slug, st.ref(U)]", "'u#{user}', '{id}'")
    assert k16(text + patterns(of="N", table=", U, M")) == []


@pytest.mark.parametrize(
    ("fields", "index", "found"),
    [
        ("place: Annotated[st.Slug, st.ref(F)]", "'f#{place}', '{id}'", ["N.i"]),
        ("place: Annotated[st.Slug, st.ref('F')]", "'f#{place}', '{id}'", ["N.i"]),
        ("place: Annotated[st.Slug, st.ref(F)] | None = None", "'f#{place}', '{id}'", ["N.i"]),
        (
            "building_id: st.Slug; place: Annotated[st.Slug, st.ref(F)]",
            "'b#{building_id}#f#{place}', '{id}'",
            [],
        ),
        (
            "house: Annotated[st.Slug, st.ref(F, 'building_id')]; "
            "place: Annotated[st.Slug, st.ref(F)]",
            "'b#{house}#f#{place}', '{id}'",
            [],
        ),
    ],
)
def test_a_part_of_an_identity_needs_the_others(fields: str, index: str, found: list[str]) -> None:
    assert k16(FLOOR + note(fields, index) + patterns(of="N", table=", F")) == found


def test_a_reference_names_a_part_of_the_primary_key() -> None:
    text = FLOOR + note("place: Annotated[st.Slug, st.ref(F, 'floor')]", "'f#{place}', '{id}'")
    with pytest.raises(st.DeclarationError, match="did you mean 'floor_id'"):
        model(text + patterns(of="N", table=", F"))


def test_samples_and_volumes_follow_references() -> None:
    table = model(
        USER
        + note("author: Annotated[st.Slug, st.ref(U)]", "'u#{author}', '{id}'")
        + patterns(
            "def by_author(self, author: str) -> st.Query[N]: ...",
            table=", U, volumes=st.volumes(N=st.each('U', mean=1, max=20_000, size=100) "
            "& st.each('U', mean=1, max=20_000))",
        )
    )
    items = st.sample(table)
    users = {i.user_id for i in items if type(i).__name__ == "U"}  # type: ignore[attr-defined]
    authors = {i.author for i in items if type(i).__name__ == "N"}  # type: ignore[attr-defined]
    assert authors
    assert authors <= users
    assert [f.where for f in st.lint(table).findings if f.rule == "A04"] == ["P.by_author"]
    with hashrange.connect() as database:
        assert not st.prove(table, database).failed


FOLLOWED = """
class Club(st.Item):
    key = st.key("club#{club_id}", "info")
    club_id: st.Slug
    title: str = ""

class Member(st.Item):
    key = st.key("person#{person}", "club#{club}")
    person: st.Slug
    club: Annotated[st.Slug, st.ref(Club)]

class P(st.Store, Protocol):
    @st.through(Member)
    def clubs(self, person: str) -> st.Query[Club]: ...

table = st.Table("app", P)
"""


def test_a_follow_up_read_uses_references(database: hashrange.Database) -> None:
    table = model(FOLLOWED)
    table.create(database)
    db = table.open(table.protocols[0], database)
    by_name = {entity.name: entity.model for entity in table.model.entities}
    db.put(by_name["Club"].model_validate({"club_id": "1", "title": "Chess"}))
    db.put(by_name["Member"].model_validate({"person": "ann", "club": "1"}))
    assert [club.title for club in db.clubs("ann")] == ["Chess"]
    without = FOLLOWED.replace("club: Annotated[st.Slug, st.ref(Club)]", "club: st.Slug")
    with pytest.raises(st.DeclarationError, match="no field that holds the club_id of a Club"):
        model(without)
