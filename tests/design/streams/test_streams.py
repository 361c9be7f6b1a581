"""Changes of items: handlers in process and in AWS Lambda, with checkpoints and receipts."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest
from planting import bug_in

import hashrange
from hashrange import design as st
from hashrange.design.streams.dispatch import Dispatcher
from hashrange.testing import TestClock

pytestmark = pytest.mark.slow


class User(st.Item):
    key = st.key("user#{user_id}", "info")

    user_id: st.Slug
    name: str
    photo: bytes = b""
    visits: int = 0
    expires: st.TTL | None = None


class Post(st.Item):
    key = st.key("user#{user_id}", "post#{number:06d}")

    user_id: st.Slug
    number: int
    author: str = st.copy(User, "name", sync="stream")


class Blog(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def posts(self, user_id: str) -> st.Query[Post]: ...


class AsyncBlog(st.AsyncStore, Protocol):
    async def user(self, user_id: str) -> User | None: ...


Seen = list[st.Change[User]]


@pytest.fixture
def table() -> st.Table:
    return st.Table("blog", Blog, AsyncBlog)


@pytest.fixture(params=["in process", "boto3"])
def opened(
    request: pytest.FixtureRequest, table: st.Table, database: hashrange.Database
) -> tuple[Blog, st.Follower]:
    table.create(database)
    if request.param == "in process":
        db = table.open(Blog, database)
        return db, st.follow(db)
    session = database.boto3_session()
    db = table.open(Blog, session.client("dynamodb"))
    return db, st.follow(db, streams=session.client("dynamodbstreams"))


def test_handlers_get_old_and_new_items(opened: tuple[Blog, st.Follower], table: st.Table) -> None:
    db, follower = opened
    every: Seen = []
    renamed: Seen = []
    st.on(table, User)(every.append)
    st.on(table, User, changed=("name",))(renamed.append)
    ann = db.create(User(user_id="1", name="Ann", photo=b"\xff\x00"))
    bea = db.save(ann.replace(name="Bea"))
    db.save(bea.replace(visits=1))
    db.delete(User(user_id="1", name=""))
    assert follower.catch_up() == 4
    assert [(c.old and c.old.name, c.new and c.new.name) for c in every] == [
        (None, "Ann"), ("Ann", "Bea"), ("Bea", "Bea"), ("Bea", None),
    ]  # fmt: skip
    assert every[0].item.photo == b"\xff\x00"
    assert [c.deleted_by for c in every] == [None, None, None, "user"]
    assert [int(c.sequence) for c in every] == sorted(int(c.sequence) for c in every)
    assert [c.item.name for c in renamed] == ["Bea"]
    assert renamed[0].changed("name")
    assert not renamed[0].changed("visits")
    assert abs(every[0].at - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_checkpoint_is_where_the_next_reader_starts(
    opened: tuple[Blog, st.Follower], table: st.Table, database: hashrange.Database
) -> None:
    db, follower = opened
    seen: Seen = []
    st.on(table, User)(seen.append)
    db.create(User(user_id="1", name="Ann"))
    assert follower.catch_up() == 1
    assert follower.catch_up() == 0
    db.create(User(user_id="2", name="Bea"))
    again = st.follow(table.open(Blog, database))
    assert again.catch_up() == 1
    assert [c.item.user_id for c in seen] == ["1", "2"]
    other = st.follow(table.open(Blog, database), reader="other")
    assert other.catch_up() == 2
    assert list(db.posts("1")) == []


def test_a_failed_handler_is_called_again_for_the_same_change(
    opened: tuple[Blog, st.Follower], table: st.Table
) -> None:
    db, follower = opened
    calls: list[str] = []

    @st.on(table, User)
    def fail_once(change: st.Change[User]) -> None:
        calls.append(change.item.user_id)
        if calls.count("2") == 1 and calls[-1] == "2":
            raise ZeroDivisionError

    for n in ("1", "2", "3"):
        db.create(User(user_id=n, name="x"))
    with pytest.raises(ZeroDivisionError):
        follower.catch_up()
    follower.catch_up()
    assert sorted(calls) == ["1", "2", "2", "3"]


def test_copies_follow_their_owners(opened: tuple[Blog, st.Follower]) -> None:
    db, follower = opened
    ann = db.create(User(user_id="1", name="Ann"))
    posts = [db.create(Post(user_id="1", number=n)) for n in range(150)]
    assert {post.author for post in posts} == {"Ann"}
    db.save(ann.replace(name="Bea"))
    assert {post.author for post in db.posts("1")} == {"Ann"}
    while follower.catch_up():
        pass
    assert {post.author for post in db.posts("1")} == {"Bea"}
    stale = posts[0].replace(number=500)
    db.put(stale)
    assert {post.author for post in db.posts("1")} == {"Bea"}


def test_a_copy_that_was_written_beside_a_change_of_its_owner(
    table: st.Table, database: hashrange.Database
) -> None:
    """The owner's record is handled before the copy exists; the copy's own record corrects it."""
    table.create(database)
    db = table.open(Blog, database)
    follower = st.follow(db)
    db.create(User(user_id="1", name="Ann"))
    post = table.dump(db.create(Post(user_id="1", number=1)))
    db.delete(Post(user_id="1", number=1, author=""))
    with db.edit(db.user, "1") as user:
        user.name = "Bea"
    while follower.catch_up():
        pass
    database.execute("PutItem", {"TableName": "blog", "Item": post})
    assert [p.author for p in db.posts("1")] == ["Ann"]
    follower.catch_up()
    assert [p.author for p in db.posts("1")] == ["Bea"]


def test_an_item_that_expired_was_deleted_by_its_ttl(table: st.Table) -> None:
    clock = TestClock()
    database = hashrange.connect(clock=clock)
    table.create(database)
    db = table.open(Blog, database)
    seen: Seen = []
    st.on(table, User)(seen.append)
    db.create(User(user_id="1", name="x", expires=datetime.now(UTC) + timedelta(hours=1)))
    clock.advance(timedelta(hours=2))
    database.run_upkeep()
    st.follow(db).catch_up()
    assert [c.deleted_by for c in seen] == [None, "ttl"]
    batch = event(database, table)
    service = batch["Records"][1]["userIdentity"]
    batch["Records"][1]["userIdentity"] = {name.lower(): who for name, who in service.items()}
    batch["Records"][1]["userIdentity"]["principalId"] = service["PrincipalId"]
    st.lambda_handler(table, database)(batch, None)
    assert [c.deleted_by for c in seen] == [None, "ttl"] * 2


def test_run_until_it_is_stopped(opened: tuple[Blog, st.Follower], table: st.Table) -> None:
    db, follower = opened
    stop = threading.Event()

    @st.on(table, User)
    def last(change: st.Change[User]) -> None:
        stop.set()

    db.create(User(user_id="1", name="x"))
    follower.run(stop)
    assert stop.is_set()


class Halting:
    """A database whose shards each give an empty page first, as those of AWS may."""

    def __init__(self, database: hashrange.Database) -> None:
        self.database = database
        self.halted: set[str] = set()

    def execute(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        iterator = payload.get("ShardIterator")
        if iterator is None or iterator in self.halted:
            return self.database.execute(operation, payload)
        self.halted.add(iterator)
        return {"Records": [], "NextShardIterator": iterator}


def test_an_empty_page_is_not_the_end_of_a_closed_shard(table: st.Table) -> None:
    clock = TestClock(1_800_000_000.0)
    settings = hashrange.Settings(shard_seconds=10)
    with hashrange.connect(clock=clock, settings=settings) as database:
        table.create(database)
        db = table.open(Blog, database)
        seen: Seen = []
        st.on(table, User)(seen.append)
        ann = db.create(User(user_id="1", name="Ann"))
        for visits in range(1, 4):
            clock.advance(10)
            ann = db.save(ann.replace(visits=visits))
        st.follow(table.open(Blog, Halting(database))).catch_up()
        assert [change.item.visits for change in seen] == [0, 1, 2]
        st.follow(db).catch_up()
        assert [change.item.visits for change in seen] == [0, 1, 2, 3]


def test_mistakes(table: st.Table, database: hashrange.Database) -> None:
    plain = st.Table("plain", Users)
    with pytest.raises(st.DeclarationError, match=r"declare one with st.Table\(..., stream=True\)"):
        st.on(plain, Member)(print)
    with pytest.raises(st.DeclarationError, match=r"no field 'nam' \(did you mean 'name'"):
        st.on(table, User, changed=("nam",))
    with pytest.raises(st.DesignError, match="no stream"):
        st.follow(plain.open(Users, database))
    with pytest.raises(TypeError, match="dynamodbstreams"):
        st.follow(table.open(Blog, database.boto3_session().client("dynamodb")))
    with pytest.raises(TypeError, match="is not an open"):
        st.follow(table.open(AsyncBlog, database))  # type: ignore[arg-type]


class Member(st.Item):
    key = st.key("member#{member_id}", "info")

    member_id: st.Slug


class Users(st.Store, Protocol):
    def member(self, member_id: str) -> Member | None: ...


# ---- AWS Lambda ----


def event(database: hashrange.Database, table: st.Table) -> dict[str, Any]:
    """All records of the stream, as Lambda gets them."""
    described = database.execute("DescribeTable", {"TableName": table.name})["Table"]
    arn = described["LatestStreamArn"]
    shards = database.execute("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    records = []
    for shard in shards:
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = database.execute("GetShardIterator", place)["ShardIterator"]
        records += database.execute("GetRecords", {"ShardIterator": iterator})["Records"]
    return {"Records": sorted(records, key=lambda r: int(r["dynamodb"]["SequenceNumber"]))}


@pytest.fixture
def users(table: st.Table, database: hashrange.Database) -> list[str]:
    table.create(database)
    db = table.open(Blog, database)
    for n in ("1", "2", "3"):
        db.create(User(user_id=n, name=f"name {n}"))
    return ["1", "2", "3"]


@pytest.mark.usefixtures("users")
def test_a_failure_is_reported_and_the_rest_comes_again(
    table: st.Table, database: hashrange.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []

    @st.on(table, User)
    def fail_once(change: st.Change[User]) -> None:
        calls.append(change.item.user_id)
        if calls == ["1", "2"]:
            raise ZeroDivisionError

    handler = st.lambda_handler(table, database)
    batch = event(database, table)
    failed = handler(batch, None)
    second = batch["Records"][1]["dynamodb"]["SequenceNumber"]
    assert failed == {"batchItemFailures": [{"itemIdentifier": second}]}
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert handler({"Records": batch["Records"][1:]}, None) == {"batchItemFailures": []}
    assert calls == ["1", "2", "2", "3"]


@pytest.mark.usefixtures("users")
def test_a_record_that_comes_twice_is_handled_once(
    table: st.Table, database: hashrange.Database
) -> None:
    calls: list[str] = []
    st.on(table, User)(lambda change: calls.append(change.item.user_id))
    batch = event(database, table)
    for handler in (st.lambda_handler(table, database), st.lambda_handler(table, database)):
        assert handler(batch, None) == {"batchItemFailures": []}
    assert calls == ["1", "2", "3"]


def test_lambda_keeps_copies(table: st.Table, database: hashrange.Database) -> None:
    table.create(database)
    db = table.open(Blog, database)
    ann = db.create(User(user_id="1", name="Ann"))
    db.create(Post(user_id="1", number=1))
    db.save(ann.replace(name="Bea"))
    handler = st.lambda_handler(table, database)
    assert handler(event(database, table), None) == {"batchItemFailures": []}
    assert [post.author for post in db.posts("1")] == ["Bea"]


# ---- proof ----


def test_prove_checks_that_copies_converge(table: st.Table, database: hashrange.Database) -> None:
    proof = st.prove(table, database)
    assert not proof.failed, proof
    with bug_in(Dispatcher, "_is_owner", lambda *_: False):
        wrong = st.prove(table, hashrange.connect())
    assert "copies: Post.author: it is " in str(wrong)
