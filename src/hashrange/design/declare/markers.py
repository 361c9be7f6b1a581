"""The markers for `Annotated[...]`, and the types made with them.

st.TTL        a datetime after which DynamoDB deletes the item (stored as epoch seconds)
st.Version    a counter by which `save`, `edit` and `update` detect writes by others
st.Slug       letters, digits, `-` and `_`, so it never contains a delimiter
st.Month      in a pattern: the month of a date or datetime field
st.Day        in a pattern: the day of a datetime field
st.Hour       in a pattern: the hour of a datetime field
st.AtLeast[date], st.Between[int], st.Prefix[str] ...: operators, in a pattern
st.Between[st.Month], st.AtLeast[st.Day] ...: ranges of whole months, days or hours
st.AnyOf[State]  in a pattern: one of several values
st.Shard      in a pattern: the number of the shard to read
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import StringConstraints

T = TypeVar("T")
OperatorName = Literal[
    "=", "at least", "at most", "after", "before", "between", "begins with", "month", "day", "hour",
    "any of", "shard",
]  # fmt: skip
PERIODS: dict[OperatorName, frozenset[str]] = {
    "month": frozenset({"%Y", "%m"}),
    "day": frozenset({"%Y", "%m", "%d"}),
    "hour": frozenset({"%Y", "%m", "%d", "%H"}),
}
"""Maps each operator to the strftime directives from the year to the unit that it compares."""
RANGES: tuple[OperatorName, ...] = ("at least", "at most", "after", "before", "between")


@dataclass(frozen=True, slots=True)
class Expires:
    """The field is the table's TTL attribute."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The field is the item's version counter."""


@dataclass(frozen=True, slots=True)
class Delimited:
    """The field's texts cannot contain a delimiter of a key: see `st.Slug`."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The field holds one part of the primary key of `entity`: `field` (default: the last part).

    An `entity` of None says that the field refers to nothing. Fields with the same `role` form one
    reference.
    """

    entity: Any
    field: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """How an argument is compared with `field` (default: the field of the same name).

    `fields` has the (entity, field) pairs of entities in which the field has another name.
    """

    name: OperatorName
    field: str | None = None
    fields: tuple[tuple[str, str], ...] = ()


TTL = Annotated[datetime, Expires()]
Version = Annotated[int, Counts()]
Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$"), Delimited()]

Month = Annotated[date, Operator("month")]
Day = Annotated[date, Operator("day")]
Hour = Annotated[datetime, Operator("hour")]
AtLeast = Annotated[T, Operator("at least")]
AtMost = Annotated[T, Operator("at most")]
After = Annotated[T, Operator("after")]
Before = Annotated[T, Operator("before")]
Between = Annotated[tuple[T, T], Operator("between")]
Prefix = Annotated[T, Operator("begins with")]
AnyOf = Annotated[Collection[T], Operator("any of")]
Shard = Annotated[int, Operator("shard")]


def ref(entity: Any, field: str | None = None, *, role: str | None = None) -> Ref:
    """The field refers to an item of another entity: `author: Annotated[st.Slug, st.ref(User)]`.

    `entity` is a class or its name. If its primary key has several fields, `field` is the one whose
    value this field holds (default: the last one). A field that can refer to several entities has
    an st.ref for each. `st.ref(None)` says that the field refers to nothing, even if its name and
    its place in a key suggest a reference.

    If the key of the other entity has several fields, and an item has several references to it,
    fields with the same `role` are one reference. A field without a role belongs to every reference
    that has no other field for this part of the key.
    """
    return Ref(entity, field, role)


def equal(field: str | None = None, /, **fields: str) -> Operator:
    """Compare a field of another name than the argument: `Annotated[str, st.equal("user_id")]`.

    In a pattern of several entities, the field can have another name in some of them:
    `name: Annotated[str, st.equal(User="login", Repository="owner")]`.
    """
    return Operator("=", field, tuple(fields.items()))


def at_least(field: str) -> Operator:
    """field >= argument: `since: Annotated[date, st.at_least("at")]`."""
    return Operator("at least", field)


def at_most(field: str) -> Operator:
    """field <= argument."""
    return Operator("at most", field)


def after(field: str) -> Operator:
    """field > argument."""
    return Operator("after", field)


def before(field: str) -> Operator:
    """field < argument."""
    return Operator("before", field)


def between(field: str) -> Operator:
    """argument[0] <= field <= argument[1]: both ends are included, as in DynamoDB's BETWEEN."""
    return Operator("between", field)


def prefix(field: str) -> Operator:
    """field begins with the argument."""
    return Operator("begins with", field)


def any_of(field: str) -> Operator:
    """field = one of the values of the argument: `Annotated[list[State], st.any_of("state")]`."""
    return Operator("any of", field)


def shard(field: str) -> Operator:
    """The argument is the shard to read: for `{field|shard:8}`, a number from 0 to 7."""
    return Operator("shard", field)


def month(field: str) -> Operator:
    """A date or datetime field is in the month of the argument, a date. Months are in UTC."""
    return Operator("month", field)


def day(field: str) -> Operator:
    """A datetime field is on the day of the argument, a date. Days are in UTC."""
    return Operator("day", field)


def hour(field: str) -> Operator:
    """A datetime field is in the hour of the argument, a datetime. Hours are in UTC."""
    return Operator("hour", field)
