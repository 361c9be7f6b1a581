"""Atomic updates of sets, lists and nested values, without a read."""

from decimal import Decimal
from typing import Annotated, Any, Protocol

import pytest
from pydantic import BaseModel, Field, StringConstraints

import hashrange
from hashrange import design as st


class Address(BaseModel):
    city: Annotated[str, StringConstraints(to_upper=True)] = ""
    post_code: str = Field(default="", alias="postCode")
    lines: list[str] = Field(default_factory=list)


class Person(st.Item):
    key = st.key("person#{person_id}", "info")
    by_group = st.index("GSI1", "group#{group}", "{person_id}")

    person_id: st.Slug
    group: st.Slug = "g"
    tags: set[str] = Field(default_factory=set)
    numbers: set[int] | None = None
    log: list[str] = Field(default_factory=list)
    address: Address = Address()
    scores: dict[str, Decimal] = Field(default_factory=dict)
    visits: int = 0
    version: st.Version = 0


class People(st.Store, Protocol):
    def person(self, person_id: str) -> Person | None: ...


table = st.Table("people", People)
P = Person(person_id="1")


@pytest.fixture(params=["in process", "boto3"])
def db(request: pytest.FixtureRequest, database: hashrange.Database) -> People:
    client = database.boto3_session().client("dynamodb")
    table.create(database)
    db = table.open(People, database if request.param == "in process" else client)
    db.create(P)
    return db


def test_sets(db: People) -> None:
    assert db.add(P, tags={"a", "b"}, numbers={1}, visits=2).tags == {"a", "b"}
    db.add(P, tags={"c"})
    person = db.discard(P, tags={"a", "x"}, numbers={1})
    assert (person.tags, person.numbers, person.visits) == ({"b", "c"}, None, 2)
    assert person.version == 4
    with pytest.raises(st.BadValue, match=r"Person\.tags='a'"):
        db.add(P, tags="a")  # type: ignore[call-overload]
    with pytest.raises(st.BadValue, match=r"Person\.log="):
        db.discard(P, log={"a"})


def test_lists(db: People) -> None:
    assert db.append(P, log=["a"]).log == ["a"]
    assert db.append(P, log=["b", "c"]).log == ["a", "b", "c"]
    with pytest.raises(st.BadValue, match=r"Person\.tags="):
        db.append(P, tags=["a"])


def test_nested_values(db: People) -> None:
    db.assign(P, "address.city", "ulm")
    db.assign(P, "address.post_code", "89073")
    db.assign(P, "scores.maths", Decimal("1.5"))
    db.assign(P, "address.lines", ["x", "y"])
    person = db.assign(P, "address.lines[1]", "z")
    assert (person.address.city, person.address.post_code) == ("ULM", "89073")
    assert person.address.lines == ["x", "z"]
    assert person.scores == {"maths": Decimal("1.5")}
    with pytest.raises(st.BadValue, match=r"Person\.address\.city=5: .*string"):
        db.assign(P, "address.city", 5)
    with pytest.raises(st.BadValue, match="did you mean 'city'"):
        db.assign(P, "address.cty", "x")
    with pytest.raises(st.BadValue, match="by_group"):
        db.assign(P, "group", "x")
    with pytest.raises(st.BadValue, match="not a path"):
        db.assign(P, "address..city", "x")


def test_they_take_conditions_and_need_the_item(db: People) -> None:
    with pytest.raises(st.ConditionFailed, match=" is false"):
        db.append(P, log=["a"], where="visits >= :n", n=1)
    db.append(P, log=["a"], where="visits = :n", n=0)
    with pytest.raises(st.NotFound):
        db.add(Person(person_id="9"), tags={"a"})
    with pytest.raises(st.NotFound):
        db.assign(Person(person_id="9"), "visits", 1)


def test_they_become_one_update_in_a_transaction(db: People) -> None:
    with db.transaction() as t:
        t.add(P, tags={"a"}, visits=1)
        t.append(P, log=["a"])
        t.append(P, log=["b"])
        t.add(P, tags={"b"})
        t.assign(P, "address.city", "ulm")
    person = db.person("1")
    assert person
    assert (person.tags, person.log, person.visits) == ({"a", "b"}, ["a", "b"], 1)
    assert person.address.city == "ULM"
    transaction = db.transaction()
    t = transaction.__enter__()
    t.add(P, tags={"a"})
    t.discard(P, tags={"b"})
    with pytest.raises(st.BadValue, match="tags"):
        transaction.__exit__(None, None, None)


def test_nothing_is_read(db: People) -> None:
    shown: Any = table.request(People.append, P, log=["a"])
    assert [operation for operation, _ in shown.requests] == ["UpdateItem"]
