"""Several references to one entity: roles pair their fields, and copies name one of them."""

from typing import Annotated, Protocol

import pytest

import hashrange
from hashrange import design as st

from ..models import model


class Team(st.Item):
    key = st.key("league#{league}", "team#{team}")

    league: st.Slug
    team: st.Slug


class Game(st.Item):
    key = st.key("game#{league}#{team}", "{other_league}#{other}")
    away = st.index("GSI1", "of#{other_league}#{other}", "{league}#{team}")

    league: Annotated[st.Slug, st.ref(Team, "league", role="home")]
    team: Annotated[st.Slug, st.ref(Team, role="home")]
    other_league: Annotated[st.Slug, st.ref(Team, "league", role="away")]
    other: Annotated[st.Slug, st.ref(Team, role="away")]


class Games(st.Store, Protocol):
    @st.through(Game)
    def guests(self, league: str, team: str) -> st.Query[Team]: ...
    @st.through(Game, "team")
    def hosts(self, other_league: str, other: str) -> st.Query[Team]: ...


games = st.Table("games", Games)


def test_fields_of_one_role_are_one_reference(database: hashrange.Database) -> None:
    games.create(database)
    db = games.open(Games, database)
    for league, team in ("a1", "a2", "b1", "b2"):
        db.put(Team(league=league, team=team))
    for one, other in (("a1", "b2"), ("b2", "a2"), ("b1", "b2")):
        db.put(Game(league=one[0], team=one[1], other_league=other[0], other=other[1]))
    assert [t.league + t.team for t in db.guests("a", "1")] == ["b2"]
    assert {t.league + t.team for t in db.hosts("b", "2")} == {"a1", "b1"}
    assert not [f for f in st.lint(games).findings if f.rule == "R08"]
    assert db.delete_tree(Team(league="b", team="2")) == {"Team": 1, "Game": 3}


MAIL = """
class User(st.Item):
    key = st.key("user#{user_id}", "info")
    user_id: st.Slug
    name: str

class Mail(st.Item):
    key = st.key("mail#{mail_id}", "info")
    sent = st.index("GSI1", "from#{sender}", "{mail_id}")
    got = st.index("GSI2", "to#{recipient}", "{mail_id}")
    mail_id: st.Slug
    sender: Annotated[st.Slug, st.ref(User)]
    recipient: Annotated[st.Slug, st.ref(User)]
    sender_name: str = st.copy(User, "name", sync="transaction", by="sender")
    recipient_name: str = st.copy(User, "name", sync="transaction", by="recipient")

class P(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def mail(self, mail_id: str) -> Mail | None: ...

table = st.Table("app", P)
"""


@pytest.mark.parametrize("sync", ["transaction", "batch", "stream"])
def test_copies_follow_their_references(sync: str, database: hashrange.Database) -> None:
    table = model(MAIL.replace("transaction", sync))
    table.create(database)
    db = table.open(table.protocols[0], database)
    user, mail = (entity.model for entity in table.model.entities)
    for name in ("ann", "bob"):
        db.put(user.model_validate({"user_id": name, "name": name.title()}))
    for number, recipient in (("1", "bob"), ("2", "ann")):
        values = {"mail_id": number, "sender": "ann", "recipient": recipient}
        db.put(mail.model_validate(values))
    with db.edit(db.user, "ann") as ann:
        ann.name = "Anna"
    if sync == "stream":
        st.follow(db).catch_up()
    names = [(m.sender_name, m.recipient_name) for m in (db.mail("1"), db.mail("2"))]
    assert names == [("Anna", "Bob"), ("Anna", "Anna")]
    assert not [f for f in st.lint(table).findings if f.rule == "R02"]


@pytest.mark.parametrize("sync", ["transaction", "batch", "stream"])
@pytest.mark.parametrize("again", ["put", "create", "transaction", "move"])
def test_copies_take_the_values_of_an_owner_that_is_made_again(
    sync: str, again: str, database: hashrange.Database
) -> None:
    table = model(MAIL.replace("transaction", sync))
    table.create(database)
    db = table.open(table.protocols[0], database)
    user, mail = (entity.model for entity in table.model.entities)
    for name in ("ann", "bob"):
        db.put(user.model_validate({"user_id": name, "name": name.title()}))
    db.put(mail.model_validate({"mail_id": "1", "sender": "ann", "recipient": "bob"}))
    reader = st.follow(db) if sync == "stream" else None
    if reader is not None:
        reader.catch_up()
    db.delete(db.user, "ann")
    new = user.model_validate({"user_id": "ann", "name": "Anna"})
    if again == "transaction":
        with db.transaction() as together:
            together.put(new)
    elif again == "move":
        other = db.put(user.model_validate({"user_id": "cy", "name": "Anna"}))
        db.move(other.replace(user_id="ann"))
    else:
        getattr(db, again)(new)
    if reader is not None:
        reader.catch_up()
    assert db.mail("1").sender_name == "Anna"
    assert db.mail("1").recipient_name == "Bob"


@pytest.mark.parametrize("sync", ["transaction", "batch", "stream"])
def test_a_copy_follows_a_reference_that_moves(sync: str, database: hashrange.Database) -> None:
    table = model(MAIL.replace("transaction", sync))
    table.create(database)
    db = table.open(table.protocols[0], database)
    user, mail = (entity.model for entity in table.model.entities)
    for name in ("ann", "bob"):
        db.put(user.model_validate({"user_id": name, "name": name.title()}))
    db.put(mail.model_validate({"mail_id": "1", "sender": "ann", "recipient": "bob"}))
    with db.edit(db.mail, "1") as one:
        one.sender = "bob"
    assert (one.sender_name, db.mail("1").sender_name) == ("Bob", "Bob")
    if sync != "stream":
        with pytest.raises(st.Conflict), db.edit(db.mail, "1") as one:
            one.sender, one.sender_name = "ann", "Zed"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (', by="sender"', "", "several ways: write st.copy.User, 'name', by='recipient'"),
        ('by="sender"', 'by="sendr"', "by='sendr' does not refer to a User.*mean 'sender'"),
        (
            "sender: Annotated[st.Slug, st.ref(User)]",
            "sender: st.Slug",
            "by='sender' does not refer to a User",
        ),
    ],
)
def test_the_owner_of_a_copy_is_not_guessed(old: str, new: str, message: str) -> None:
    with pytest.raises(st.DeclarationError, match=message):
        model(MAIL.replace(old, new))


def test_a_field_of_the_owners_name_is_not_preferred_to_a_reference() -> None:
    text = """
class User(st.Item):
    key = st.key("user#{user_id}", "info")
    user_id: st.Slug
    name: str

class Invitation(st.Item):
    key = st.key("invitation#{user_id}", "info")
    user_id: st.Slug
    by: Annotated[st.Slug, st.ref(User)]
    name: str = st.copy(User, "name", sync="batch")

table = st.Table("app", User, Invitation)
"""
    with pytest.raises(st.DeclarationError, match="several ways"):
        model(text)
