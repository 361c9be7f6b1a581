"""Unique texts: their namespaces, their expiry, and markers that were left behind."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st

from ..models import item, model, patterns

pytestmark = pytest.mark.slow

Stored = Callable[[st.Table], list[dict[str, Any]]]
PAST = datetime(2001, 1, 1, tzinfo=UTC)
FUTURE = datetime(2100, 1, 1, tzinfo=UTC)


class User(st.Item):
    key = st.key("user#{user_id}", "info")
    one_login = st.unique("account#{login}")

    user_id: st.Slug
    login: str | None = None
    expires: st.TTL | None = None


class Organisation(st.Item):
    key = st.key("org#{org_id}", "info")
    one_login = st.unique("account#{login}")
    one_name = st.unique("{name}", namespace="names")
    one_alias = st.unique("{alias}", namespace="names")

    org_id: st.Slug
    login: str | None = None
    name: str | None = None
    alias: str | None = None


class App(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def org(self, org_id: str) -> Organisation | None: ...


table = st.Table("app", App)


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> App:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    return table.open(App, database if request.param == "in process" else client)


def markers(stored: Stored) -> dict[str, dict[str, Any]]:
    return {i["pk"]["S"]: i for i in stored(table) if i["entityType"]["S"] == "unique"}


# ---- namespaces ----


def test_entities_with_one_template_share_its_texts(db: App) -> None:
    db.create(User(user_id="1", login="a"))
    with pytest.raises(st.NotUnique, match=r"Organisation\.one_login .*'account#a'"):
        db.create(Organisation(org_id="1", login="a"))
    db.create(Organisation(org_id="1", login="b"))
    with pytest.raises(st.NotUnique):
        db.create(User(user_id="2", login="b"))


def test_a_namespace_joins_templates_and_fields(db: App) -> None:
    db.create(Organisation(org_id="1", name="x", alias="y"))
    for taken in ({"name": "y"}, {"alias": "x"}):
        with pytest.raises(st.NotUnique):
            db.create(Organisation(org_id="2", **taken))
    both = db.create(Organisation(org_id="3", name="z", alias="z"))
    db.save(both.replace(alias=None))
    with pytest.raises(st.NotUnique):
        db.create(Organisation(org_id="4", name="z"))
    found = db.org("3")
    assert found
    db.save(found.replace(name=None))
    db.create(Organisation(org_id="4", name="z"))


def test_a_renamed_class_keeps_its_texts(db: App, database: hashrange.Database) -> None:
    db.create(User(user_id="1", login="a"))
    renamed = model(
        item(
            "Member",
            "'user#{user_id}', 'info'",
            "user_id: st.Slug; login: str",
            "only_one = st.unique('account#{login}')",
        )
        + patterns("def member(self, user_id: str) -> Member | None: ...")
    )
    store: Any = renamed.open(renamed.protocols[0], database)
    member: Any = renamed.model.entities[0].model
    with pytest.raises(st.NotUnique):
        store.create(member(user_id="2", login="a"))


def test_lint_finds_one_namespace_with_different_templates() -> None:
    text = item(
        "A", "'a#{a}', 'info'", "a: st.Slug; x: str", "u = st.unique('{x}', namespace='n')"
    ) + item("B", "'b#{b}', 'info'", "b: st.Slug; y: str", "u = st.unique('{U}', namespace='n')")
    report = st.lint(model(text.replace("{U}", "y#{y}") + patterns(table=", A, B")))
    assert [f.where for f in report.findings if f.rule == "R07"] == ["B.u"]
    report = st.lint(model(text.replace("{U}", "{y}") + patterns(table=", A, B")))
    assert not [f for f in report.findings if f.rule == "R07"]


# ---- expiry ----


def test_the_marker_expires_with_its_item(db: App, stored: Stored) -> None:
    db.create(User(user_id="1", login="a", expires=FUTURE))
    [marker] = markers(stored).values()
    assert marker["expires"] == {"N": str(int(FUTURE.timestamp()))}
    with db.edit(db.user, "1") as user:
        user.expires = PAST
    [marker] = markers(stored).values()
    assert marker["expires"] == {"N": str(int(PAST.timestamp()))}
    with db.edit(db.user, "1") as user:
        user.expires = None
    [marker] = markers(stored).values()
    assert "expires" not in marker
    with pytest.raises(st.BadValue, match="one_login"), db.patch(db.user, "1") as blank:
        blank.expires = PAST


def test_the_text_of_an_expired_item_can_be_used_again(db: App, stored: Stored) -> None:
    db.create(User(user_id="1", login="a", expires=PAST))
    db.create(User(user_id="2", login="a"))
    [marker] = markers(stored).values()
    assert marker["owner"]["M"]["pk"] == {"S": "user#2"}
    db.delete(db.user, "1")  # its marker is not its own any more
    assert db.user("1") is None
    assert [m["owner"]["M"]["pk"]["S"] for m in markers(stored).values()] == ["user#2"]
    with pytest.raises(st.NotUnique):
        db.create(User(user_id="3", login="a"))


@pytest.mark.parametrize("token", [None, "once"])
def test_a_marker_whose_item_is_gone_can_be_taken_over(
    db: App, database: hashrange.Database, stored: Stored, token: str | None
) -> None:
    db.create(User(user_id="1", login="a"))
    key = {"pk": {"S": "user#1"}, "sk": {"S": "info"}}
    database.execute("DeleteItem", {"TableName": table.name, "Key": key})
    with db.transaction(token=token) as together:
        together.create(Organisation(org_id="1", login="a"))
        together.create(User(user_id="2", login="b"))
    assert markers(stored)["unique#account#{login}#account#a"]["owner"]["M"]["pk"] == {"S": "org#1"}


def test_the_owner_is_checked_when_its_marker_is_taken_over(database: hashrange.Database) -> None:
    """The owner is written again between the read and the transaction."""
    key = {"pk": {"S": "user#1"}, "sk": {"S": "info"}}

    class Racing:
        def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
            answer: dict[str, Any] = database.execute(operation, payload)
            if operation == "GetItem" and payload["Key"] == key:
                back = {**key, "entityType": {"S": "User"}, "user_id": {"S": "1"}}
                database.execute(
                    "PutItem", {"TableName": table.name, "Item": {**back, "login": {"S": "a"}}}
                )
            return answer

    table.create(database)
    db = table.open(App, database)
    db.create(User(user_id="1", login="a"))
    database.execute("DeleteItem", {"TableName": table.name, "Key": key})
    with pytest.raises(st.ConditionFailed):
        table.open(App, Racing()).create(User(user_id="2", login="a"))
    assert db.user("2") is None


# ---- markers of the old form ----


def test_markers_of_the_old_form_are_replaced(
    db: App, database: hashrange.Database, stored: Stored
) -> None:
    for number, login in enumerate("aba"):
        raw = table.dump(User(user_id=str(number), login=login))
        database.execute("PutItem", {"TableName": table.name, "Item": raw})
        old = {
            "pk": {"S": f"unique#User#one_login#account#{login}"},
            "sk": {"S": "unique"},
            "entityType": {"S": "unique"},
            "owner": {"M": {"pk": raw["pk"], "sk": raw["sk"]}},
        }
        database.execute("PutItem", {"TableName": table.name, "Item": old})
    rebuilt = st.rebuild_markers(table, database)
    assert (rebuilt.written, rebuilt.deleted) == (2, 2)
    [clash] = rebuilt.clashes
    assert "User.one_login" in clash
    assert "'account#a'" in clash
    assert set(markers(stored)) == {
        "unique#account#{login}#account#a",
        "unique#account#{login}#account#b",
    }
    again = st.rebuild_markers(table, database)
    assert (again.written, again.deleted, len(again.clashes)) == (0, 0, 1)
    with pytest.raises(st.NotUnique):
        db.create(User(user_id="9", login="b"))


class Interrupting:
    """A database in which another program writes before some of the requests."""

    def __init__(self, database: hashrange.Database, *others: Callable[[], object]) -> None:
        self.database, self.others = database, [*others]

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems" and self.others:
            self.others.pop(0)()
        return self.database.execute(operation, payload)


@pytest.mark.parametrize("change", ["changed", "deleted", "taken"])
def test_markers_are_rebuilt_while_other_programs_write(
    change: str, database: hashrange.Database, stored: Stored
) -> None:
    table.create(database)
    db = table.open(App, database)
    raw = table.dump(User(user_id="1", login="a"))
    database.execute("PutItem", {"TableName": table.name, "Item": raw})

    def changed() -> None:
        with db.edit(db.user, "1") as user:
            user.login = "b"

    def taken() -> None:
        changed()
        db.create(User(user_id="2", login="a"))

    others = {"changed": changed, "taken": taken, "deleted": lambda: db.delete(db.user, "1")}
    rebuilt = st.rebuild_markers(table, Interrupting(database, others[change]))
    assert rebuilt.clashes == []
    expected = {"changed": {"1": "b"}, "deleted": {}, "taken": {"1": "b", "2": "a"}}[change]
    assert set(markers(stored)) == {
        f"unique#account#{{login}}#account#{login}" for login in expected.values()
    }


def test_a_marker_that_its_owner_takes_again_is_not_deleted(
    database: hashrange.Database, stored: Stored
) -> None:
    """The item has another text while the scan passes it, and then its first one again."""
    table.create(database)
    db = table.open(App, database)
    db.create(User(user_id="1", login="a"))
    scans = 0

    class Between(Interrupting):
        def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
            nonlocal scans
            scans += operation == "Scan"
            if operation == "Scan" and scans == 2:
                self.rename("b")
            answer = super().execute(operation, payload)
            if operation == "Scan" and scans == 2:
                self.rename("a")
            return answer

        def rename(self, login: str) -> None:
            with db.edit(db.user, "1") as user:
                user.login = login

    st.rebuild_markers(table, Between(database))
    assert "unique#account#{login}#account#a" in markers(stored)
