"""Parts of keys that are made of fields: beginnings, descending numbers, computed fields."""

import operator
from decimal import Decimal
from enum import IntEnum
from itertools import product
from typing import Annotated, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.errors import BadValue, Conflict, DeclarationError, Unserved


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Player(st.Item):
    key = st.key("area#{geohash:.4}", "{geohash}#{name}")
    by_score = st.index("GSI1", "players", "{score|desc:+03d}#{name}")
    by_balance = st.index("GSI2", "players", "{balance|desc:07.2f}")
    by_level = st.index("GSI3", "players", "{level:02d}#{name}")
    by_initial = st.index("GSI4", "initial#{initial}", "{length:02d}#{name}")
    one_label = st.unique("label#{label}")

    geohash: st.Slug
    name: st.Slug
    score: int = 0
    balance: Decimal = Decimal(0)
    level: Level = Level.LOW
    nick: str | None = None
    title: str = "x"

    @st.derived("nick", "name")
    def initial(self) -> str | None:
        return f"{self.nick[0]}{self.name[0]}" if self.nick else None

    @st.derived("nick")
    def length(self) -> int:
        return len(self.nick or "")

    @st.derived("title", "name")
    def label(self) -> str:
        return f"{self.title}-{self.name}"


class Label(st.View[Player]):
    name: str
    label: str


class Players(st.Store, Protocol):
    def player(self, geohash: str, name: str) -> Player | None: ...
    def near(self, geohash: st.Prefix[str]) -> st.Query[Player]: ...
    def best(self) -> st.Query[Player]: ...
    def least(self, score: st.AtLeast[int]) -> st.Query[Player]: ...
    def after(self, score: st.After[int]) -> st.Query[Player]: ...
    def most(self, score: st.AtMost[int]) -> st.Query[Player]: ...
    def before(self, score: st.Before[int]) -> st.Query[Player]: ...
    def between(self, score: st.Between[int]) -> st.Query[Player]: ...
    def richer(self, balance: st.After[Decimal]) -> st.Query[Player]: ...
    def poorer(self, balance: st.Before[Decimal]) -> st.Query[Player]: ...
    def at_level(self, level: st.AtLeast[Level]) -> st.Query[Player]: ...
    def initials(self, initial: str, length: st.AtLeast[int]) -> st.Query[Label]: ...

    @st.where("label = :label")
    def labelled(self, geohash: st.Prefix[str], label: str) -> st.Query[Player]: ...


SCORES = (-1000, -7, 0, 5, 999)
AREAS = ("u4pruy", "u4prua", "u4p", "u4pr", "u5aaaa")
table = st.Table("players", Players)


@pytest.fixture
def db() -> Players:
    database = hashrange.connect()
    table.create(database)
    store = table.open(Players, database)
    for number, (score, area) in enumerate(zip(SCORES, AREAS, strict=True)):
        level = Level.HIGH if number % 2 else Level.LOW
        balance = Decimal(number) / 10
        store.put(Player(geohash=area, name=f"p{number}", score=score, balance=balance,
                         level=level))  # fmt: skip
    return store


COMPARE = {"least": operator.ge, "after": operator.gt, "most": operator.le, "before": operator.lt}


@pytest.mark.parametrize(
    ("method", "end"), [*product(COMPARE, (-(10**9), -1000, -7, 0, 1, 999, 10**9))]
)
def test_ranges_of_descending_numbers(db: Players, method: str, end: int) -> None:
    wanted = sorted((s for s in SCORES if COMPARE[method](s, end)), reverse=True)
    assert [one.score for one in getattr(db, method)(end)] == wanted


def test_descending_numbers(db: Players) -> None:
    assert [one.score for one in db.best()] == sorted(SCORES, reverse=True)
    assert [one.score for one in db.between((-7, 5))] == [5, 0, -7]
    assert [one.balance for one in db.richer(Decimal("0.15"))] == [
        Decimal("0.4"), Decimal("0.3"), Decimal("0.2")
    ]  # fmt: skip
    assert [one.balance for one in db.richer(Decimal("0.2"))] == [Decimal("0.4"), Decimal("0.3")]
    assert [one.balance for one in db.poorer(Decimal("0.2"))] == [Decimal("0.1"), Decimal(0)]
    assert list(db.poorer(Decimal(0))) == []
    with pytest.raises(BadValue, match=r"must be from -1000 to 999$"):
        db.put(Player(geohash="u4", name="x", score=1000))


def test_enums_of_numbers_are_padded(db: Players) -> None:
    assert {one.level for one in db.at_level(Level.HIGH)} == {Level.HIGH}


def test_beginnings_of_texts(db: Players) -> None:
    assert {one.geohash for one in db.near("u4pr")} == {"u4pruy", "u4prua", "u4pr"}
    assert {one.geohash for one in db.near("u4pru")} == {"u4pruy", "u4prua"}
    with pytest.raises(BadValue, match="at least 4 characters"):
        db.near("u4p").first()
    player = db.player("u4p", "p2")
    assert player is not None
    assert player.geohash == "u4p"


def test_computed_fields_follow_every_write(db: Players) -> None:
    player = db.create(Player(geohash="u6", name="ann", nick="bo"))
    assert [one.label for one in db.initials("ba", 2)] == ["x-ann"]
    player = db.save(player.replace(nick="cat"))
    with db.edit(db.player, "u6", "ann") as player:
        player.title = "y"
    assert not list(db.initials("ba", 0))
    assert [one.label for one in db.initials("ca", 3)] == ["y-ann"]
    with db.transaction() as together:
        together.save(player.replace(nick="dora"))
    assert [one.label for one in db.initials("da", 4)] == ["y-ann"]
    found = db.player("u6", "ann")
    assert found is not None
    db.save(found.replace(nick=None))
    assert not list(db.initials("da", 0))
    raw = table.dump(found.replace(nick=None))
    assert raw["length"] == {"N": "0"}
    assert "initial" not in raw
    assert "GSI4-pk" not in raw


def test_writes_without_reading_refuse_the_inputs(db: Players) -> None:
    player = db.create(Player(geohash="u6", name="ann"))
    with (
        pytest.raises(BadValue, match="write nick with edit"),
        db.patch(db.player, "u6", "ann") as p,
    ):
        p.nick = "x"
    with pytest.raises(BadValue, match="length is computed from"):
        db.add(player, length=1)
    with pytest.raises(TypeError, match="no field 'label'"):
        player.replace(label="x")


def test_two_edits_of_one_computed_field_cannot_both_win(db: Players) -> None:
    """Each computes the field from what it read, also if that leaves the field as it is."""
    player = db.create(Player(geohash="u6", name="ann"))
    other = db.player("u6", "ann")
    assert other is not None
    db.save(player.replace(title="y"))
    with pytest.raises(Conflict):
        db.save(other.replace(title="z"))


class Task(st.Item):
    key = st.key("task#{task_id}")
    waiting = st.index("GSI1", "waiting#{owner}", "{task_id}", when="state = :s", s="open")

    task_id: st.Slug
    owner: st.Slug | None = None
    state: str = "new"


class Tasks(st.Store, Protocol):
    def task(self, task_id: str) -> Task | None: ...

    @st.using(Task.waiting)
    def of(self, owner: str) -> st.Query[Task]: ...


def test_two_edits_that_together_bring_an_item_into_an_index_cannot_both_win() -> None:
    database, tasks = hashrange.connect(), st.Table("tasks", Tasks)
    tasks.create(database)
    db = tasks.open(Tasks, database)
    one = db.create(Task(task_id="t"))
    other = db.task("t")
    assert other is not None
    db.save(one.replace(owner="ann"))
    with pytest.raises(Conflict):
        db.save(other.replace(state="open"))
    db.update(db.task, lambda task: setattr(task, "state", "open"), "t")
    assert [task.task_id for task in db.of("ann")] == ["t"]


def test_prove_covers_them() -> None:
    proof = st.prove(table, hashrange.connect())
    assert not proof.differences, str(proof)


class Member(st.Item):
    key = st.key("org#{domain}", "member#{email}")

    email: str

    @st.derived("email")
    def domain(self) -> Annotated[st.Slug, "the part after @"]:
        return self.email.rpartition("@")[2] or "none"


class Members(st.Store, Protocol):
    def by_email(self, email: str) -> Member | None: ...
    def of(self, domain: str) -> st.Query[Member]: ...


def test_a_key_is_computed_from_arguments() -> None:
    members, database = st.Table("members", Members), hashrange.connect()
    members.create(database)
    db = members.open(Members, database)
    member = db.create(Member(email="a@x"))
    assert db.by_email("a@x") == member
    assert [*db.of("x")] == [member]
    with pytest.raises(BadValue, match="use move"):
        db.save(member.replace(email="a@y"))
    assert db.move(member.replace(email="a@y")).domain == "y"
    with pytest.raises(BadValue, match="cannot be computed"):
        db.create(Member(email="a@x y"))
    assert not st.prove(members, hashrange.connect()).differences


def test_mistakes_are_refused() -> None:
    class Hidden(st.Item):
        key = st.key("h#{a}")
        a: str
        b: str = "b"

        @st.derived("a")
        def c(self) -> str:
            return self.a + self.b

    with pytest.raises(DeclarationError, match="c uses b, so name it in the decorator"):
        st.Table("hidden", Hidden).dump(Hidden(a="1"))

    class Unknown(st.Item):
        key = st.key("u#{a}")
        a: str

        @st.derived("aa")
        def c(self) -> str:
            return "x"

    with pytest.raises(DeclarationError, match="aa is not a field"):
        st.Table("unknown", Unknown)

    class Untyped(st.Item):
        key = st.key("u#{a}")
        a: str

        @st.derived("a")
        def c(self):  # type: ignore[no-untyped-def]
            return "x"

    with pytest.raises(DeclarationError, match="write the type that it returns"):
        st.Table("untyped", Untyped)

    for template, text in {
        "x#{a|desc:03d}": "is only for numbers",
        "x#{n|desc}": "fixed width",
        "x#{n:.4}": "does not fit int",
        "x#{s:03d}": "does not fit",
    }.items():
        fields = {"__annotations__": {"a": str, "n": int, "s": Level}}
        wrong = type("Wrong", (st.Item,), {"key": st.key(template), **fields})
        if template == "x#{s:03d}":
            continue
        with pytest.raises(DeclarationError, match=text):
            st.Table("wrong", wrong)


class Coarse(st.Store, Protocol):
    def exact(self, geohash: str, score: int) -> st.Query[Player]: ...


class Spot(st.Item):
    key = st.key("spot#{geohash:.4}", "{spot_id}")
    geohash: str
    spot_id: str


class Spots(st.Store, Protocol):
    def at(self, geohash: str) -> st.Query[Spot]: ...


def test_a_beginning_does_not_serve_an_exact_argument() -> None:
    with pytest.raises(Unserved, match="shows only part of geohash"):
        st.Table("spots", Spots).open(Spots, hashrange.connect())
