"""Units of time in partition keys, which divide the items of one entity into buckets."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from hashrange.design.declare.keys.ends import stepped
from hashrange.design.declare.keys.formats import UNITS
from hashrange.design.declare.keys.templates import Placeholder
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.types import in_utc

_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


class _Unit(NamedTuple):
    """A unit of time. Its periods are numbered consecutively.

    `number` gives the number of the period that contains a moment, and `start` the first moment of
    a period.
    """

    name: str
    number: Callable[[datetime], int]
    start: Callable[[int], datetime]


def _hours(moment: datetime) -> int:
    return moment.toordinal() * 24 + moment.hour


def _day(ordinal: int) -> datetime:
    return datetime.combine(date.fromordinal(ordinal), datetime.min.time(), UTC)


_UNITS = {
    ("%Y",): _Unit("year", lambda m: m.year, lambda n: datetime(n, 1, 1, tzinfo=UTC)),
    ("%Y", "%m"): _Unit(
        "month",
        lambda m: m.year * 12 + m.month - 1,
        lambda n: datetime(n // 12, n % 12 + 1, 1, tzinfo=UTC),
    ),
    ("%Y", "%d", "%m"): _Unit("day", lambda m: m.toordinal(), _day),
    ("%H", "%Y", "%d", "%m"): _Unit(
        "hour", _hours, lambda n: _day(n // 24) + timedelta(hours=n % 24)
    ),
}


@dataclass(frozen=True)
class Bucket:
    """A placeholder for a unit of time in a partition key, and the range that a pattern reads.

    `python` is the type of the field: date or datetime. `whole` says that the placeholder shows the
    whole value. `low` and `high` are the ends of the range.
    """

    placeholder: Placeholder
    unit: _Unit
    python: Any
    whole: bool
    low: Argument | None = None
    high: Argument | None = None

    def number(self, value: Any) -> int:
        return self.unit.number(_moment(value))

    def start(self, number: int) -> Any:
        """The first moment (or day) of the bucket with this number."""
        start = self.unit.start(number)
        return start if self.python is datetime else start.date()

    def first(self, value: Any) -> int | None:
        """The number of the bucket where a range from `value` begins.

        None if the range excludes `value`, and there is no later value.
        """
        return self._inside(self.low, value, self._step)

    def last(self, value: Any) -> int | None:
        """The number of the bucket where a range up to `value` ends.

        None if the range excludes `value`, and there is no earlier value.
        """
        return self._inside(self.high, value, -self._step)

    def _inside(self, end: Argument | None, value: Any, step: timedelta) -> int | None:
        assert end is not None
        moment: Any = _moment(value)
        if end.operator in ("after", "before"):
            moment = stepped(moment, step)
        return None if moment is None else self.unit.number(moment)

    @property
    def _step(self) -> timedelta:
        return _MICROSECOND if self.python is datetime else _DAY


def bucket_of(placeholder: Placeholder, python: Any, units: frozenset[str]) -> Bucket | None:
    """The bucket of a placeholder that shows whole years, months, days or hours, else None.

    A placeholder that shows a whole date is a bucket of one day.
    """
    unit = _UNITS.get(tuple(sorted(units)))
    if unit is None or python not in (date, datetime):
        return None
    return Bucket(placeholder, unit, python, UNITS[python] <= units)


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return in_utc(value)
    return datetime(value.year, value.month, value.day, tzinfo=UTC)
