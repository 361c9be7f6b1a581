"""Which entities are related is declared or follows from the keys, and never from names alone."""

from typing import Annotated, Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.drawing.relations import relations

from ..models import item, model, patterns


class Currency(st.Item):
    key = st.key("currency#{code}", "info")

    code: st.Slug


class Coupon(st.Item):
    key = st.key("coupon#{code}", "info")

    code: st.Slug


class Redemption(st.Item):
    key = st.key("coupon#{code}", "account#{account}")

    code: Annotated[st.Slug, st.ref(Coupon)]
    account: st.Slug


class Shop(st.Store, Protocol):
    def redemptions(self, code: str) -> st.Query[Redemption]: ...


shop = st.Table("shop", Shop, Currency, Coupon)


class User(st.Item):
    key = st.key("user#{user_id}", "info")

    user_id: st.Slug
    name: str = ""


class Follow(st.Item):
    """Two references to one entity."""

    key = st.key("user#{follower}", "follows#{followed}")
    of_followed = st.index("GSI1", "followed#{followed}", "by#{follower}")

    follower: Annotated[st.Slug, st.ref(User)]
    followed: Annotated[st.Slug, st.ref(User)]


class Post(st.Item):
    key = st.key("user#{author}", "post#{post_id}")

    author: Annotated[st.Slug, st.ref(User)]
    post_id: st.Slug


class Like(st.Item):
    """Below the user who likes, and below the post, and so below the post's author."""

    key = st.key("post#{author}#{post_id}", "like#{user_id}")
    of_user = st.index("GSI1", "liked#{user_id}", "post#{author}#{post_id}")

    author: Annotated[st.Slug, st.ref(Post, "author")]
    post_id: Annotated[st.Slug, st.ref(Post)]
    user_id: Annotated[st.Slug, st.ref(User)]


class Graph(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    @st.through(Follow)
    def followed_by(self, follower: str) -> st.Query[User]: ...
    @st.through(Follow)
    def followers_of(self, followed: str) -> st.Query[User]: ...
    @st.through(Follow, "follower")
    def the_same_user(self, follower: str) -> st.Query[User]: ...
    @st.scan_ok("a test")
    def everything(self) -> st.Query[Follow]: ...


graph = st.Table("graph", Graph, Post, Like)
FOLLOWS = [("ann", "bob"), ("bob", "ann"), ("cy", "ann"), ("cy", "bob")]
LIKES = [("ann", "bob"), ("bob", "ann"), ("cy", "ann"), ("ann", "cy")]  # (the author, who likes)


@pytest.fixture
def friends(database: hashrange.Database) -> Graph:
    graph.create(database)
    db = graph.open(Graph, database)
    for name in ("ann", "bob", "cy"):
        db.put(User(user_id=name, name=name.title()))
        db.put(Post(author=name, post_id="1"))
    for one, other in FOLLOWS:
        db.put(Follow(follower=one, followed=other))
    for author, user in LIKES:
        db.put(Like(author=author, post_id="1", user_id=user))
    return db


def drawn(table: st.Table) -> set[tuple[str, str]]:
    found = relations(table.model, table.volumes)
    return {(str(one.parent), str(one.child)) for one in found}


def lint(table: st.Table, rule: str) -> list[str]:
    return [f"{f.where}: {f.message}" for f in st.lint(table).findings if f.rule == rule]


def test_a_field_of_the_same_name_is_no_reference(database: hashrange.Database) -> None:
    shop.create(database)
    db = shop.open(Shop, database)
    for one in (Currency(code="USD"), Coupon(code="USD"), Redemption(code="USD", account="1")):
        db.put(one)
    assert drawn(shop) == {("Coupon", "Redemption")}
    assert db.delete_tree(Currency(code="USD")) == {"Currency": 1}
    assert len(list(db.redemptions("USD"))) == 1
    assert db.delete_tree(Coupon(code="USD")) == {"Coupon": 1, "Redemption": 1}


def test_two_references_to_one_entity_are_followed_apart(friends: Graph) -> None:
    assert {u.user_id for u in friends.followed_by("cy")} == {"ann", "bob"}
    assert {u.user_id for u in friends.followers_of("ann")} == {"bob", "cy"}
    assert [u.user_id for u in friends.the_same_user("cy")] == ["cy", "cy"]


def test_all_edges_are_deleted_with_their_node(
    friends: Graph, database: hashrange.Database
) -> None:
    counts = {"Follow": 3, "Like": 4, "Post": 1, "User": 1}
    assert friends.delete_tree(User(user_id="ann"), preview=True) == counts
    assert friends.delete_tree(User(user_id="ann")) == counts
    items = database.execute("Scan", {"TableName": "graph"})["Items"]
    names = ("user_id", "author", "follower", "followed")
    assert not [i for i in items if any(i.get(n) == {"S": "ann"} for n in names)]
    assert len(items) == 2 + 2 + 1  # the other users, their posts, and who follows whom
    assert lint(graph, "R04") + lint(graph, "R08") == []


def test_patterns_of_a_graph_are_proven(database: hashrange.Database) -> None:
    proof = st.prove(graph, database)
    assert proof.differences == []


THREE = """
class User(st.Item):
    key = st.key("user#{user_id}", "info")
    user_id: st.Slug

class Mail(st.Item):
    key = st.key("mail#{mail_id}", "info")
    of = st.index("GSI1", "box#{sender}", "{mail_id}")
    mail_id: st.Slug
    sender: Annotated[st.Slug, st.ref(User)]
    recipient: Annotated[st.Slug, st.ref(User)]
    copied: Annotated[st.Slug, st.ref(User)]

class P(st.Store, Protocol):
    @st.through(Mail)
    def others(self, sender: str) -> st.Query[User]: ...

table = st.Table("app", P)
"""


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("Mail", r"Mail refers to a User by .*recipient.*: write @st.through\(Mail, '"),
        ("Mail, 'recipeint'", "'recipeint' does not refer to a User.*did you mean 'recipient'"),
    ],
)
def test_a_reference_is_not_chosen_for_the_caller(named: str, message: str) -> None:
    with pytest.raises(st.DeclarationError, match=message):
        model(THREE.replace("through(Mail)", f"through({named})"))
    model(THREE.replace("through(Mail)", "through(Mail, 'recipient')"))


NODE = item("N", "'n#{id}', 'info'", "id: st.Slug")
GAMES = """
class Team(st.Item):
    key = st.key("league#{league}", "team#{team}")
    league: st.Slug
    team: st.Slug

class Game(st.Item):
    key = st.key("game#{league}#{team}", "{other_league}#{other}")
    league: Annotated[st.Slug, st.ref(Team, "league")]
    team: Annotated[st.Slug, st.ref(Team)]
    other_league: Annotated[st.Slug, st.ref(Team, "league")]
    other: Annotated[st.Slug, st.ref(Team)]
"""


@pytest.mark.parametrize(
    ("text", "root", "values", "related"),
    [
        (  # the same text before the field, whatever the delimiters
            NODE + item("C", "'x', 'y#n@{id}@{k}'", "id: st.Slug; k: st.Slug"),
            "N", {"id": "1"}, False,
        ),
        (NODE + item("C", "'n@{id}', 'k#{k}'", "id: st.Slug; k: st.Slug"), "N", {"id": "1"}, True),
        (
            NODE + item("C", "'nn#{id}', 'k#{k}'", "id: st.Slug; k: st.Slug"),
            *("N", {"id": "1"}, False),
        ),
        (NODE + item("C", "'c#{k}#{id}', 'x'", "id: st.Slug; k: st.Slug"), "N", {"id": "1"}, False),
        (  # the same text by an index
            NODE + item("C", "'c#{id}', 'k#{k}'", "id: st.Slug; k: st.Slug",
                        "i = st.index('GSI1', 'n#{id}', 'k#{k}')"),
            "N", {"id": "1"}, True,
        ),
        (  # denied
            NODE + item("C", "'n#{id}', 'k#{k}'",
                        "id: Annotated[st.Slug, st.ref(None)]; k: st.Slug"),
            "N", {"id": "1"}, False,
        ),
        (  # declared to belong to another entity
            NODE + item("O", "'o#{id}', 'info'", "id: st.Slug")
            + item("C", "'n#{id}', 'k#{k}'", "id: Annotated[st.Slug, st.ref(O)]; k: st.Slug"),
            "N", {"id": "1"}, False,
        ),
        (  # an extension of an item is not the parent of the item's children
            NODE + item("E", "'n#{id}', 'more'", "id: Annotated[st.Slug, st.ref(N)]")
            + item("C", "'n#{id}', 'k#{k}'", "id: st.Slug; k: st.Slug"),
            "E", {"id": "1"}, False,
        ),
    ],
)  # fmt: skip
def test_what_is_below_an_item(
    text: str, root: str, values: dict[str, Any], related: bool, database: hashrange.Database
) -> None:
    table = model(text + patterns(of="C", table=", N" + ", E" * ("class E" in text)
                                  + ", O" * ("class O" in text)))  # fmt: skip
    table.create(database)
    db = table.open(table.protocols[0], database)
    by_name = {entity.name: entity.model for entity in table.model.entities}
    child = by_name["C"].model_validate({"id": "1", "k": "k"})
    db.put(by_name[root].model_validate(values))
    db.put(child)
    parent = by_name[root].model_validate(values)
    assert db.delete_tree(parent) == {root: 1, **({"C": 1} if related else {})}
    assert lint(table, "R08") == []


@pytest.mark.parametrize(
    ("text", "root", "values", "finding"),
    [
        (
            item("N", "st.attr('id'), 'info'", "id: st.Slug")
            + item("C", "st.attr('id'), 'k#{k}'", "id: st.Slug; k: st.Slug"),
            "N", {"id": "1"}, "C: id can be the key of a N or something else",
        ),
        (
            NODE + item("M", "'n#{id}', 'more'", "id: st.Slug")
            + item("C", "'n#{id}', 'k#{k}'", "id: st.Slug; k: st.Slug"),
            "N", {"id": "1"}, "C: it can belong to a N or to a M",
        ),
        (
            GAMES, "Team", {"league": "1", "team": "2"},
            "Game: league/other_league and team/other can be combined into the key "
            "of a Team in several ways",
        ),
    ],
)  # fmt: skip
def test_what_is_ambiguous_is_found_and_refused(
    text: str, root: str, values: dict[str, str], finding: str, database: hashrange.Database
) -> None:
    others = [line.split()[1].split("(")[0] for line in text.splitlines() if "class " in line]
    table = model(text + patterns(of=others[0], table=f", {', '.join(others[1:])}"))
    table.create(database)
    db = table.open(table.protocols[0], database)
    by_name = {entity.name: entity.model for entity in table.model.entities}
    parent = by_name[root].model_validate(values)
    with pytest.raises(st.BadValue, match="unclear"):
        db.delete_tree(parent)
    assert finding in lint(table, "R08")


def test_a_reference_to_one_of_several_entities(database: hashrange.Database) -> None:
    text = (
        NODE
        + item("O", "'o#{number}', 'info'", "number: st.Slug")
        + item(
            "C",
            "'c#{on}', 'k#{k}'",
            "on: Annotated[st.Slug, st.ref(N), st.ref(O)]; k: st.Slug",
        )
    )
    table = model(text + patterns(of="C", table=", N, O"))
    table.create(database)
    db = table.open(table.protocols[0], database)
    by_name = {entity.name: entity.model for entity in table.model.entities}
    for name, values in (("N", {"id": "1"}), ("O", {"number": "1"})):
        db.put(by_name["C"].model_validate({"on": "1", "k": "k"}))
        assert db.delete_tree(by_name[name].model_validate(values)) == {"C": 1}
