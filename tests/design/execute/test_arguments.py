"""Arguments of patterns go through the validators of their fields"""

from datetime import date
from enum import Enum
from typing import Annotated, Any, Protocol

import pytest
from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator

import hashrange
from hashrange import design as st

Email = Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True)]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


def fold(value: str) -> str:
    return value.casefold()


class User(st.Item):
    key = st.key("user#{user_id}", "info")
    by_email = st.index("GSI1", "email#{email}", "{name}")
    by_level = st.index("GSI2", "level#{level}", "{number:04d}")

    user_id: st.Slug
    email: Email
    name: Annotated[str, AfterValidator(fold)]
    level: Level = Level.LOW
    number: Annotated[int, Field(ge=0)] = 0
    city: str = "?"
    born: date = date(2000, 1, 1)

    @field_validator("city", mode="before")
    @classmethod
    def upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("born")
    @classmethod
    def with_others(cls, value: date, info: ValidationInfo) -> date:
        assert info.data["user_id"], "depends on another field"
        return value


class Users(st.Store, Protocol):
    def user(self, user_id: str) -> User | None: ...
    def by_email(self, email: str) -> st.Query[User]: ...
    def named(self, email: str, name: st.Prefix[str]) -> st.Query[User]: ...
    def of_level(self, level: str, number: st.AtLeast[int]) -> st.Query[User]: ...
    @st.where("city = :city")
    def in_city(self, email: str, city: str) -> st.Query[User]: ...
    @st.where("born = :born")
    def born_on(self, email: str, born: date) -> st.Query[User]: ...


table = st.Table("users", Users)


@pytest.fixture
def db(database: hashrange.Database) -> Users:
    table.create(database)
    db = table.open(Users, database)
    db.put(User(user_id="1", email=" A@x ", name="Ann", level=Level.HIGH, city="Ulm", number=3))
    return db


def test_an_argument_is_written_as_its_field_is(db: Users) -> None:
    assert [u.user_id for u in db.by_email("a@x")] == ["1"]
    assert [u.user_id for u in db.by_email("A@X ")] == ["1"]
    assert [u.user_id for u in db.by_email(email="A@X ")] == ["1"]
    assert [u.user_id for u in db.named("A@x", "AN")] == ["1"]
    assert [u.user_id for u in db.in_city("A@x", "ulm")] == ["1"]
    assert [u.user_id for u in db.of_level("high", 3)] == ["1"]
    assert [u.user_id for u in db.born_on("A@x", date(2000, 1, 1))] == ["1"]
    assert [u and u.name for u in db.get_many(db.user, ["1"])] == ["ann"]


def test_a_value_that_the_field_cannot_have_is_refused(db: Users) -> None:
    with pytest.raises(st.BadValue, match=r"User\.user_id='a#b': .*match pattern"):
        db.user("a#b")
    with pytest.raises(st.BadValue, match=r"User\.level='middle': .*'low' or 'high'"):
        db.of_level("middle", 0)


def test_the_end_of_a_range_need_not_be_a_value_of_the_field(db: Users) -> None:
    [user] = db.of_level("high", -1)  # neither `ge` nor the key allows -1
    assert user.number == 3
    assert list(db.of_level("high", 4)) == []
