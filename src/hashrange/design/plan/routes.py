"""How one key of an entity serves a pattern's arguments.

A template is matched from left to right. Its text is known up to the first field that is not an
argument with equality. That field may have a range; later fields cannot be used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.formats import Format
from hashrange.design.declare.patterns import Argument
from hashrange.design.declare.schema import EntityKey, KeyColumn
from hashrange.design.declare.templates import Part, Placeholder


@dataclass(frozen=True)
class SortTest:
    """The comparison of a Query on a sort key attribute whose value is not completely known.

    `parts` are the known leading parts of the template. `low` and `high` are the bounds of the
    placeholder after them; `begins` is an argument that it begins with.
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

    @property
    def rest(self) -> Sequence[Part]:
        """The parts after the placeholder."""
        return self.column.template.parts[len(self.parts) + 1 :]


@dataclass(frozen=True)
class Route:
    """A key with the arguments that it uses.

    `equals` are the completely known sort columns, `test` is the comparison on the next one.
    `shards` is a shard placeholder of the partition key whose field is not known, so that every
    shard is queried. `bound` maps fields to arguments.
    """

    entity: Entity
    key: EntityKey
    equals: tuple[KeyColumn, ...]
    test: SortTest | None
    shards: Placeholder | None
    bound: Mapping[str, Argument]

    @property
    def complete(self) -> bool:
        return len(self.equals) == len(self.key.range) and self.shards is None

    @property
    def known(self) -> tuple[Part, ...]:
        """The known beginning of the first sort column."""
        if self.equals:
            return self.equals[0].template.parts
        return self.test.parts if self.test is not None else ()


class KeyRefusal(Exception):
    """A key does not serve a pattern. `missing` are partition key fields without argument."""

    def __init__(self, reason: str, missing: Sequence[str] = (), rule: str = "A01") -> None:
        super().__init__(reason)
        self.reason = reason
        self.missing = tuple(missing)
        self.rule = rule


def find_route(entity: Entity, key: EntityKey, arguments: Sequence[Argument]) -> Route:
    """Raises KeyRefusal."""
    return _Walk(entity, key, arguments).route()


class _Walk:
    def __init__(self, entity: Entity, key: EntityKey, arguments: Sequence[Argument]) -> None:
        self.entity = entity
        self.key = key
        self.arguments = arguments
        self.equal = {a.field: a for a in arguments if a.operator in ("=", "day")}
        self.ranges: dict[str, list[Argument]] = {}
        for argument in arguments:
            if argument.operator not in ("=", "day"):
                self.ranges.setdefault(argument.field, []).append(argument)
        self.used: set[str] = set()

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
        self._expect_all_used()
        bound = {field: a for field, a in self.equal.items() if a.name in self.used}
        return Route(self.entity, self.key, tuple(equals), test, shards, bound)

    def _hash(self) -> Placeholder | None:
        missing, shards = [], None
        for column in self.key.hash:
            for placeholder in column.template.placeholders:
                if self._gives(column, placeholder):
                    self.used.add(self.equal[placeholder.field].name)
                elif placeholder.shards and shards is None:
                    shards = placeholder
                else:
                    missing.append(placeholder.field)
        if missing:
            names = ", ".join(column.attribute for column in self.key.hash)
            raise KeyRefusal(f"needs {names} from {missing}", missing)
        return shards

    def _known_parts(self, column: KeyColumn) -> tuple[Part, ...]:
        known: list[Part] = []
        for part in column.template.parts:
            if isinstance(part, Placeholder):
                if not self._gives(column, part):
                    break
                self.used.add(self.equal[part.field].name)
            known.append(part)
        return tuple(known)

    def _gives(self, column: KeyColumn, placeholder: Placeholder) -> bool:
        argument = self.equal.get(placeholder.field)
        if argument is None:
            return False
        if argument.operator == "=":
            return True
        return (
            column.natural is None
            and not placeholder.shards
            and column.template.formats[placeholder].days_only
        )

    def _test(self, column: KeyColumn, known: tuple[Part, ...]) -> SortTest | None:
        part = column.template.parts[len(known)]
        assert isinstance(part, Placeholder)
        given = self.ranges.get(part.field, []) if not part.shards else []
        if not given:
            return SortTest(column, known) if known else None
        self.used |= {argument.name for argument in given}
        last = len(known) + 1 == len(column.template.parts)
        begins = [a for a in given if a.operator == "begins with"]
        if begins:
            if len(given) > 1 or column.tag == "N" or begins[0].python is not str:
                raise KeyRefusal(f"{part.field} can have a range or, if it is a text, one prefix")
            return SortTest(column, known, begins=begins[0])
        low = self._only(given, "at least", "after", "between")
        high = self._only(given, "at most", "before", "between")
        test = SortTest(column, known, True, low, high)
        if column.natural is None:
            _check_order(test, column.template.formats[part], last)
        else:
            _check_natural(test)
        return test

    def _only(self, given: Sequence[Argument], *operators: str) -> Argument | None:
        found = [argument for argument in given if argument.operator in operators]
        if len(found) > 1:
            raise KeyRefusal(f"{found[0].name} and {found[1].name} are the same bound")
        return found[0] if found else None

    def _expect_all_used(self) -> None:
        for argument in self.arguments:
            if argument.name not in self.used:
                templates = " and ".join(str(column.template) for column in self.key.range)
                raise KeyRefusal(
                    f"{argument.name} is not in a leading part of {templates}"
                    if any(argument.field in c.template.fields for c in self.key.range)
                    else f"{argument.name} is not part of {templates or 'the key'}"
                )


def _check_order(test: SortTest, written: Format, last: bool) -> None:
    """Raise KeyRefusal unless texts sort as their values do and the bounds can be written."""
    field = test.placeholder.field
    if not written.ordered:
        raise KeyRefusal(f"the texts of {test.placeholder} do not sort as {field} does", rule="K08")
    if not last and not written.fixed:
        raise KeyRefusal(
            f"{field} has no fixed width, so the text after it in {test.column.template} "
            "changes its order",
            rule="A13",
        )
    ends = [end for end in (test.low, test.high) if end is not None]
    if written.read is None and not (written.days_only and all(e.python is date for e in ends)):
        raise KeyRefusal(f"{test.placeholder} is coarser than the ends given for {field}")
    before = test.high is not None and test.high.operator == "before"
    if before and last and written.before is None:
        raise KeyRefusal(f"there is no largest text below {field}: use st.AtMost")


def _check_natural(test: SortTest) -> None:
    """Raise KeyRefusal if two bounds cannot be written as a BETWEEN, which includes both."""
    if test.low is None or test.high is None:
        return
    kind = test.column.kind
    assert kind is not None
    if test.high.operator == "before" and kind.python not in (int, date, datetime):
        raise KeyRefusal(f"{test.placeholder.field}: with two bounds use st.AtMost, not st.Before")
    if test.low.operator == "after" and kind.python not in (int, date, datetime, str):
        raise KeyRefusal(f"{test.placeholder.field}: with two bounds use st.AtLeast, not st.After")
