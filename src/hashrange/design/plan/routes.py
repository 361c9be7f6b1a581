"""How one key of an entity serves a pattern's arguments.

A template is matched from left to right. Its text is known as long as each field must equal an
argument. The first other field may have a range; later fields cannot be used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.formats import UNITS, Format, is_path
from hashrange.design.declare.keys.templates import Part, Placeholder
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.plan.time_buckets import Bucket, bucket_of


@dataclass(frozen=True)
class SortTest:
    """The comparison of a Query on a sort key attribute whose value is not completely known.

    `parts` are the known leading parts of the template. The next placeholder has the bounds `low`
    and `high`, or its text begins with the prefix or period of time `begins`.
    """

    column: KeyColumn
    parts: tuple[Part, ...]
    ranged: bool = False
    low: Argument | None = None
    high: Argument | None = None
    begins: Argument | None = None

    @property
    def placeholder(self) -> Placeholder:
        part = self.column.template.parts[len(self.parts)]
        assert isinstance(part, Placeholder)
        return part

    def end(self, side: int) -> Argument | None:
        """The lower bound of the values (side 0) or the upper bound (1)."""
        return self.high if side else self.low

    @property
    def rest(self) -> Sequence[Part]:
        """The parts after the placeholder."""
        return self.column.template.parts[len(self.parts) + 1 :]


@dataclass(frozen=True)
class Route:
    """A key with the arguments that it uses.

    `equals` are the completely known sort columns, `test` compares the next one. `shards` is a
    shard placeholder of the partition key if all shards are queried. `bound` maps fields to
    arguments. `beginnings` maps a field to a length if the partition key shows only that many
    characters.
    """

    entity: Entity
    key: EntityKey
    equals: tuple[KeyColumn, ...]
    test: SortTest | None
    shards: Placeholder | None
    bound: Mapping[str, Argument]
    beginnings: Mapping[str, int] = field(default_factory=dict)
    computes: bool = False
    """Whether a derived field is computed from arguments."""
    shard: Argument | None = None
    """The argument that names the only shard to read; None if all shards are read."""
    bucket: Bucket | None = None

    @property
    def scattered(self) -> tuple[Argument, ...]:
        """The arguments with several values, each of which needs a query of its own."""
        return tuple(a for a in self.bound.values() if a.operator == "any of")

    @property
    def complete(self) -> bool:
        whole = len(self.equals) == len(self.key.range)
        return whole and not (self.shards or self.scattered or self.bucket)

    @property
    def equal_fields(self) -> set[str]:
        """The fields that must equal an argument, without those in a period of time."""
        return {field for field, argument in self.bound.items() if argument.operator == "="}

    @property
    def known(self) -> tuple[Part, ...]:
        """The known beginning of the first sort column."""
        if self.equals:
            return self.equals[0].template.parts
        return self.test.parts if self.test is not None else ()


class KeyRefusal(Exception):
    """A key does not serve a pattern. `missing` are partition key fields without an argument.

    `proposal` is a change of the model with which the key would serve the pattern.
    """

    def __init__(
        self, reason: str, missing: Sequence[str] = (), rule: str = "A01", proposal: str = ""
    ) -> None:
        super().__init__(reason)
        self.proposal = proposal
        self.reason = reason
        self.missing = tuple(missing)
        self.rule = rule


def find_route(
    entity: Entity,
    key: EntityKey,
    arguments: Sequence[Argument],
    filtered: Sequence[Argument] = (),
    *,
    buckets: bool = False,
) -> Route:
    """The route that uses all arguments. Raises KeyRefusal.

    It may also use arguments in `filtered`, which a filter compares with their fields. With
    `buckets`, the partition key must have a unit of time that no argument determines.
    """
    return _Walk(entity, key, arguments, filtered, buckets).route()


class _Walk:
    def __init__(
        self,
        entity: Entity,
        key: EntityKey,
        arguments: Sequence[Argument],
        filtered: Sequence[Argument],
        buckets: bool,
    ) -> None:
        self.entity = entity
        self.buckets = buckets
        self.key = key
        self.arguments = arguments
        self.filtered = {a.name for a in filtered}
        equal = [a for a in arguments if a.exact or a.operator in PERIODS]
        self.numbers = [a for a in arguments if a.operator == "shard"]
        self.shard: Argument | None = None
        self.bucket: Bucket | None = None
        self.equal = {a.field: a for a in [*filtered, *equal]}
        self.ranges: dict[str, list[Argument]] = {}
        for argument in arguments:
            if argument not in equal and argument not in self.numbers:
                self.ranges.setdefault(argument.field, []).append(argument)
        self.used: set[str] = set()
        self.shown: dict[str, list[tuple[KeyColumn, Placeholder]]] = {}
        self.beginnings: dict[str, Argument] = {}
        self.computes = False

    def route(self) -> Route:
        shards = self._hash()
        equals: list[KeyColumn] = []
        test = None
        for column in self.key.range:
            known = self._known_parts(column)
            if len(known) == len(column.template.parts):
                equals.append(column)
                continue
            test = self._test(column, known)
            break
        self._use_bucket()
        self._expect_all_used()
        for name, argument in self.equal.items():
            if argument.name in self.used - self.filtered and not (
                test and test.begins == argument
            ):
                expect_exact(argument, self.shown[name])
        bound = {field: a for field, a in self.equal.items() if a.name in self.used}
        lengths = {p.field: column.template.formats[p].length or 0
                   for column in self.key.hash for p in column.template.placeholders
                   if p.field in self.beginnings}  # fmt: skip
        bound |= self.beginnings
        return Route(
            self.entity, self.key, tuple(equals), test, shards, bound, lengths, self.computes,
            self.shard, self.bucket,
        )  # fmt: skip

    def _hash(self) -> Placeholder | None:
        missing, shards = [], None
        for column in self.key.hash:
            for placeholder in column.template.placeholders:
                if self._gives(column, placeholder):
                    self._use(column, placeholder)
                elif placeholder.shards and shards is None:
                    shards = placeholder
                    self._choose_shard(placeholder)
                elif self._divides(column, placeholder):
                    continue
                elif prefix := self._prefix(column, placeholder):
                    self.used.add(prefix.name)
                    self.beginnings[placeholder.field] = prefix
                else:
                    missing.append(placeholder.field)
        if missing:
            names = ", ".join(column.attribute for column in self.key.hash)
            raise KeyRefusal(f"no argument gives {', '.join(missing)} for the key {names}", missing)
        return shards

    def _known_parts(self, column: KeyColumn) -> tuple[Part, ...]:
        known: list[Part] = []
        for part in column.template.parts:
            if isinstance(part, Placeholder):
                if not self._gives(column, part):
                    break
                self._use(column, part)
            known.append(part)
        return tuple(known)

    def _gives(self, column: KeyColumn, placeholder: Placeholder) -> bool:
        argument = self.equal.get(placeholder.field)
        if argument is None:
            return self._inputs(placeholder) is not None
        if argument.name in self.filtered and column.natural:
            return False  # DynamoDB has no filters on key attributes
        if argument.exact:
            return True
        if column.natural is not None or placeholder.shards:
            return False
        units = column.template.formats[placeholder].units
        return bool(units) and units <= PERIODS[argument.operator]

    def _choose_shard(self, placeholder: Placeholder) -> None:
        for argument in self.numbers:
            if argument.field == placeholder.field or argument.field not in self.entity.fields:
                self.shard = argument
                self.used.add(argument.name)

    def _divides(self, column: KeyColumn, placeholder: Placeholder) -> bool:
        """Whether the placeholder is the unit of time that divides items into partitions."""
        if not self.buckets or self.bucket is not None or column.natural is not None:
            return False
        written = column.template.formats[placeholder]
        python = self.entity.fields[placeholder.field].python
        self.bucket = bucket_of(placeholder, python, written.units)
        return self.bucket is not None

    def _use_bucket(self) -> None:
        """Set the bucket's range. A bucket of whole values needs no range of the sort key."""
        if self.bucket is None:
            if self.buckets:
                raise KeyRefusal(
                    "@st.buckets reads a range of time: put a unit of time, such as {at:%Y-%m}, "
                    "into the partition key, and let no argument fix the time to one value"
                )
            return
        field = self.bucket.placeholder.field
        ranges = self.ranges.get(field, [])
        low = self._only(ranges, "at least", "after", "between")
        high = self._only(ranges, "at most", "before", "between")
        self.bucket = replace(self.bucket, low=low, high=high)
        if self.bucket.whole:
            self.used |= {argument.name for argument in ranges}

    def _prefix(self, column: KeyColumn, placeholder: Placeholder) -> Argument | None:
        """The argument for the first characters of a field."""
        ranges = self.ranges.get(placeholder.field, [])
        one = len(ranges) == 1 and ranges[0].operator == "begins with" and not placeholder.shards
        shortened = one and column.template.formats[placeholder].length is not None
        return ranges[0] if shortened else None

    def _use(self, column: KeyColumn, placeholder: Placeholder) -> None:
        inputs = self._inputs(placeholder) if placeholder.field not in self.equal else None
        self.computes |= inputs is not None
        for name in inputs or (placeholder.field,):
            self.used.add(self.equal[name].name)
            self.shown.setdefault(name, []).append((column, placeholder))

    def _inputs(self, placeholder: Placeholder) -> tuple[str, ...] | None:
        """The inputs of a derived field, if there are arguments for all of them; else None."""
        derived = self.entity.derived.get(placeholder.field)
        if derived is None:
            return None
        inputs = [self.equal.get(name) for name in derived.inputs]
        known = all(one is not None and one.exact for one in inputs)
        return derived.inputs if known else None

    def _test(self, column: KeyColumn, known: tuple[Part, ...]) -> SortTest | None:
        part = column.template.parts[len(known)]
        assert isinstance(part, Placeholder)
        ranges = self.ranges.get(part.field, []) if not part.shards else []
        period = self._period(column, part)
        if period is not None and not ranges:
            self.used.add(period.name)
            return SortTest(column, known, begins=period)
        if not ranges:
            return SortTest(column, known) if known else None
        self.used |= {argument.name for argument in ranges}
        last = len(known) + 1 == len(column.template.parts)
        begins = [a for a in ranges if a.operator == "begins with"]
        if begins:
            prefixed = begins[0].python is str or is_path(begins[0].python)
            if len(ranges) > 1 or column.tag == "N" or not prefixed:
                why = "a prefix must be a text or a path, and its field can have no other range"
                raise KeyRefusal(f"{part.field}: {why}")
            return SortTest(column, known, begins=begins[0])
        low = self._only(ranges, "at least", "after", "between")
        high = self._only(ranges, "at most", "before", "between")
        test = SortTest(column, known, True, low, high)
        if column.natural is None:
            _check_order(test, column.template.formats[part], last)
        else:
            _check_natural(test)
        return test

    def _period(self, column: KeyColumn, part: Placeholder) -> Argument | None:
        """The argument for the period of time with which the placeholder's text begins."""
        argument = self.equal.get(part.field)
        if argument is None or argument.operator not in PERIODS or part.shards:
            return None
        leading = column.template.formats[part].leading if column.tag == "S" else None
        sample = datetime(2000, 1, 1)
        if leading is None or leading(sample.date(), PERIODS[argument.operator]) is None:
            return None
        return argument

    def _only(self, ranges: Sequence[Argument], *operators: str) -> Argument | None:
        bounds = [argument for argument in ranges if argument.operator in operators]
        if len(bounds) > 1:
            raise KeyRefusal(f"{bounds[0].name} and {bounds[1].name} limit the same end of a range")
        return bounds[0] if bounds else None

    def _expect_all_used(self) -> None:
        for argument in self.arguments:
            if argument.name not in self.used:
                templates = " and ".join(str(column.template) for column in self.key.range)
                raise KeyRefusal(
                    f"in {templates}, the value of a field before {argument.name} is not known"
                    if any(argument.field in c.template.fields for c in self.key.range)
                    else f"{argument.name} is not part of {templates or 'the key'}"
                )


def expect_exact(argument: Argument, shown: Sequence[tuple[KeyColumn, Placeholder]]) -> None:
    """Raise KeyRefusal unless the placeholders show the whole value: for a day, not only %Y-%m."""
    units: set[str] = set()
    needed: frozenset[str] = frozenset()
    for column, placeholder in shown:
        written = None if placeholder.shards else column.template.formats[placeholder]
        if written is None or written.length is not None or placeholder.field != argument.field:
            continue
        if column.natural is not None or not written.units:
            return
        units |= written.units
        needed = PERIODS.get(argument.unit or argument.operator) or UNITS[argument.python]
    if not units or not needed <= units:
        texts = " and ".join(str(placeholder) for _, placeholder in shown)
        raise _coarse(texts, argument, units)


def _coarse(texts: str, argument: Argument, units: set[str]) -> KeyRefusal:
    advice = ""
    if argument.operator == "=":
        fitting = [f" or pass an st.{n.title()}" for n, u in PERIODS.items() if u == units]
        advice = f': add @st.where("{argument.field} = :{argument.name}"){"".join(fitting)}'
    return KeyRefusal(
        f"{texts} shows only part of {argument.field}, so items with another {argument.field} "
        f"would be returned too{advice}",
        rule="K20",
    )


def _check_order(test: SortTest, written: Format, last: bool) -> None:
    """Raise KeyRefusal unless the texts sort as the values do and can express the bounds."""
    field = test.placeholder.field
    if not written.ordered:
        raise KeyRefusal(f"the texts of {test.placeholder} do not sort as {field} does", rule="K08")
    if not last and not written.fixed:
        raise KeyRefusal(
            f"the keys {test.column.template} do not sort by {field}, because {field} has no fixed "
            "width and another text follows it",
            rule="A13",
        )
    ends = [end for end in (test.low, test.high) if end is not None]
    for end in ends:
        expect_exact(end, [(test.column, test.placeholder)])
    side = 0 if written.descending else 1
    outer = test.end(side)
    excludes = outer is not None and outer.operator in ("after", "before")
    if excludes and last and written.before is None:
        other = "AtLeast" if side == 0 else "AtMost"
        raise KeyRefusal(f"{field}: an exclusive bound cannot be computed: use st.{other} instead")


def _check_natural(test: SortTest) -> None:
    """Raise KeyRefusal if BETWEEN, which includes both of its bounds, cannot express the range."""
    if test.low is None or test.high is None:
        return
    kind = test.column.kind
    assert kind is not None
    if test.high.operator == "before" and kind.python not in (int, date, datetime):
        raise KeyRefusal(f"{test.placeholder.field}: with two bounds use st.AtMost, not st.Before")
    if test.low.operator == "after" and kind.python not in (int, date, datetime, str):
        raise KeyRefusal(f"{test.placeholder.field}: with two bounds use st.AtLeast, not st.After")
