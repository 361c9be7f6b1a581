"""Tests a model on generated items: what its patterns return, and what its writes store.

The expected results come from `oracle`, which searches through plain values.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from hashrange.design.declare.item import Copy
from hashrange.design.declare.patterns import entity_of
from hashrange.design.declare.vectors import Match
from hashrange.design.errors import BadValue, EmptyBuckets, NotFound, NotUnique, Unserved
from hashrange.design.execute.connection import connect
from hashrange.design.execute.reads.pattern_calls import BoundPattern
from hashrange.design.execute.steps import ApiFailure, Connection, run
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.plan.plans import Plan, Unplanned
from hashrange.design.table import Table
from hashrange.design.tools import create
from hashrange.design.tools.proof import nearest
from hashrange.design.tools.proof.copies import StreamReader, unequal_copies
from hashrange.design.tools.proof.declared import Record, names_in
from hashrange.design.tools.proof.old_shapes import age
from hashrange.design.tools.proof.oracle import Answer, Oracle
from hashrange.design.tools.proof.plain_conditions import Values
from hashrange.design.tools.proof.questions import questions
from hashrange.design.tools.proof.stored import counted, differences, text
from hashrange.design.tools.proof.trees import wrong_trees
from hashrange.design.tools.sample import sample

PARENTS, CHILDREN = 20, 40
"""The numbers of items for `sample`, more than its defaults: several items share each key part."""
PAGE = 2
EDITED = 3
"""Every EDITED-th item is edited."""


@dataclass
class Proof:
    """The result of `prove`.

    A question is one test: a call of a pattern with arguments, or a change whose result is checked.
    `items` is the number of written items. `asked` has the number of questions for each pattern,
    each kind of tree, the copies (one question for each owner) and each older shape. `differences`
    has a line for each failure: a pattern that gave a wrong result or could not be tested, or e.g.
    a wrong copy or tree. `untested` has a line for each entity of which no item in an older shape
    could be made. `left_out` has the number of items that match a pattern but are not in its index.
    """

    table: str
    items: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    untested: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a result was wrong, or nothing was tested."""
        return bool(self.differences) or not sum(self.asked.values())

    def __str__(self) -> str:
        lines = [f"{name}: {count} questions" for name, count in self.asked.items()]
        lines += [
            f"{name}: {count} items that match the arguments are not in the index, since a field "
            "of the index key is None or the index's `when` does not hold"
            for name, count in self.left_out.items()
        ]
        wrong = f"{len(self.differences)} differences"
        lines.append(f"{self.table}: {self.items} items, {sum(self.asked.values())} questions, "
                     f"{wrong}")  # fmt: skip
        return "\n".join([*self.untested, *lines, *self.differences])


def prove(table: Table, database: Any, *, seed: int = 0, asking: Any = None) -> Proof:
    """Test a table in an empty database, with generated items.

    Creates and fills the table, and compares the answers of each pattern with the oracle's. Then it
    changes the owners of copies, and deletes items with the items below them, and compares all
    items of the table with the expected ones.

    The patterns are called through `asking`, a client that policies may restrict; by default,
    through the database.
    """
    connection = connect(database)
    create.create(table.model, database)
    proof = Proof(table.name)
    oracle = Oracle([entity.model for entity in table.model.entities], [])
    proof.differences += _fill(table, connection, oracle, seed)
    proof.items = len(oracle.records)
    chance = random.Random(seed)
    proof.untested += age(table, connection, oracle, proof.asked)
    _edit(table, connection, oracle, chance)
    asked_through = connection if asking is None else _Limited(connect(asking))
    reader = StreamReader(table, database)
    proof.differences += [*reader.catch_up(), *differences(table, connection, oracle)]
    for name, plan in table.plans.items():
        if isinstance(plan, Unplanned):
            proof.differences.append(str(plan.error))
        else:
            asker = _Asking(table, plan, asked_through, oracle)
            proof.differences += asker.all(proof, name, chance)
    proof.differences += unequal_copies(table, connection, oracle, reader, proof.asked)
    proof.differences += wrong_trees(table, connection, oracle, proof.asked)
    return proof


def _fill(table: Table, connection: Connection, oracle: Oracle, seed: int) -> list[str]:
    """Create sample items. Returns a line for each field that is not stored with its value."""
    core = StoreSteps(table.model, [], None, None)
    wrong: dict[str, str] = {}
    for item in sample(table, parents=PARENTS, children=CHILDREN, seed=seed):
        try:
            written = run(core.write(Write("create", item)), connection)
        except (NotUnique, NotFound, BadValue):  # NotFound: the owner of a copy is missing
            continue
        record = Record(type(item), {n: getattr(written, n) for n in type(item).model_fields})
        entity = table.model.entity(type(item))
        for name, value in record.values.items():
            expected = getattr(item, name)
            if isinstance(expected, Copy):
                owner = oracle.relations.owner_of(record, name, oracle.records)
                expected = owner.values[expected.field] if owner is not None else None
            elif name in (entity.version, *entity.update_times):
                continue
            if text({name: value}) != text({name: expected}):
                line = f"{entity}.{name}: {value!r} was stored instead of {expected!r}"
                wrong.setdefault(f"{entity}.{name}", line)
        oracle.records.append(record)
    return list(wrong.values())


def _edit(table: Table, connection: Connection, oracle: Oracle, chance: random.Random) -> None:
    """Give some items field values of other items, so that index keys and copies change."""
    core = StoreSteps(table.model, [], None, None)
    for record in oracle.records[::EDITED]:
        entity = table.model.entity(record.model)
        fixed = {
            *entity.inputs(entity.key_fields),
            *entity.copies,
            *entity.update_times,
            entity.version,
        }
        unique = (name for one in entity.unique for name in names_in(str(one.template)))
        fixed |= entity.inputs(unique)
        other = chance.choice([one for one in oracle.records if one.model is record.model])
        changes = {n: v for n, v in other.values.items() if n not in fixed}
        raw = run(core.writer.copying.read(entity.primary_key(record.values)), connection)
        if raw is None:
            continue  # an earlier edit moved the item to another key
        try:
            item = entity.load(raw).replace(**changes)
            run(core.write(Write("save", item)), connection)
        except (BadValue, NotFound, ValidationError):  # the changes do not fit its other values
            continue
        record.values.update({n: getattr(item, n) for n in changes})


class Denied(Exception):
    """The policies do not allow a request."""


@dataclass
class _Limited:
    """A connection whose requests are refused if the policies do not allow them."""

    connection: Connection

    def call(self, operation: str, payload: dict[str, Any], /) -> dict[str, Any]:
        """Send a request. Raises Denied, or ApiFailure for any other failure."""
        try:
            return self.connection.call(operation, payload)
        except ApiFailure as failure:
            if failure.code == "AccessDeniedException":
                raise Denied(str(failure)) from None
            raise


@dataclass
class _Asking:
    """Asks the questions of one pattern, and compares the answers with the oracle's."""

    table: Table
    plan: Plan
    connection: Connection
    oracle: Oracle

    def __post_init__(self) -> None:
        self.core = StoreSteps(self.table.model, [self.plan.pattern], None, None)
        using = self.plan.pattern.facts.using
        self.source = self.plan.source.name if using is None else using
        if self.plan.pattern.facts.buckets is not None:
            now = self.oracle.present(self.plan.pattern, self.source)
            for call in self.core.calls.values():
                for builder in call.builders.values():
                    builder.clock = lambda: now

    def all(self, proof: Proof, name: str, chance: random.Random) -> Iterator[str]:
        """Ask all questions. Yields a line if answers differ, or if nothing was tested."""
        wrong, left_out, records = [], set(), 0
        proof.asked[name] = 0
        for arguments in self._questions(chance):
            try:
                bound = self.core.calls[self.plan.pattern.name].bind((), arguments)
                answer = self.oracle.answer(self.plan.pattern, arguments, self.source)
                difference = self._difference(bound, answer)
            except BadValue:  # the arguments do not fit the key
                continue
            except Denied as denial:
                answer, difference = Answer([], []), f"denied: {denial}"
            proof.asked[name] += 1
            records += len(answer.records)
            left_out |= {id(record) for record in answer.left_out}
            if difference:
                wrong.append(f"for {dict(arguments)}: {difference}")
        if left_out and self.plan.pattern.facts.using is None:
            proof.left_out[name] = len(left_out)
        if wrong:
            count = f"{len(wrong)} of {proof.asked[name]} results differ"
            yield f"{name}: {count}; the first: {wrong[0]}"
        elif not proof.asked[name]:
            yield f"{name}: no arguments for this pattern could be made, so it was not tested"
        elif not records:
            yield f"{name}: no item of the sample matches any arguments, so nothing was proved"

    def _questions(self, chance: random.Random) -> Iterator[Mapping[str, Any]]:
        models = [entity.model for entity in self.table.model.entities]
        try:
            _ = self.core.calls[self.plan.pattern.name].bind
        except Unserved:
            return iter(())
        return questions(self.plan.pattern, self.oracle, models, chance)

    def _difference(self, bound: BoundPattern, answer: Answer) -> str | None:
        pattern = self.plan.pattern
        if pattern.shape == "count":
            count = run(self.core.count(bound), self.connection)
            expected = len(answer.records)
            return None if count == expected else f"the count {count} instead of {expected}"
        if pattern.shape == "nearest":
            return self._difference_of_search(bound, answer)
        if pattern.shape == "one":
            try:
                item = run(self.core.one(bound), self.connection)
            except EmptyBuckets:
                item = None
            latest = pattern.facts.latest
            wanted = self.oracle.newest(pattern, answer, self.source) if latest else answer.records
            shown = self._shown(wanted)
            if item is None:
                return f"nothing instead of {shown}" if shown else None
            got = self._text(type(item), vars(item))
            return None if got in shown else f"{got} instead of {shown}"
        return self._difference_of_pages(bound, answer)

    def _difference_of_search(self, bound: BoundPattern, answer: Answer) -> str | None:
        models = [entity.model for entity in self.table.model.entities]
        shown = self._shown(answer.records)
        matches = [
            Match((self._text(type(match.item), vars(match.item)), shown), match.score)
            for match in run(self.core.nearest(bound), self.connection)
        ]
        pattern, records = self.plan.pattern, answer.records
        return nearest.difference(pattern, models, records, bound.arguments, matches)

    def _difference_of_pages(self, bound: BoundPattern, answer: Answer) -> str | None:
        answered: list[Any] = []
        cursor = None
        while True:
            page = run(self.core.page(bound, PAGE, cursor, None, False), self.connection)
            answered += page.items
            cursor = page.cursor
            if cursor is None:
                break
            if len(page.items) != PAGE:
                return f"a page that is not the last one has {len(page.items)} of {PAGE} items"
        texts = [self._text(type(item), vars(item)) for item in answered]
        got, wanted = sorted(texts), sorted(self._shown(answer.records))
        if got != wanted:
            return f"{got} instead of {wanted}"
        return self._disorder(texts, answer)

    def _disorder(self, texts: list[str], answer: Answer) -> str | None:
        """How the order of `texts` differs from the oracle's; None if it does not.

        The order is compared only if a Query returns items of one entity with distinct texts.
        """
        pattern = self.plan.pattern
        if self.plan.operation != "Query" or len(pattern.entities) != 1:
            return None
        places: dict[str, list[Any]] = {}
        for record, shown in zip(answer.records, self._shown(answer.records), strict=True):
            places.setdefault(shown, []).append(self.oracle.place(pattern, record, self.source))
        if any(len(same) > 1 or None in same for same in places.values()):
            return None  # views of several items can be equal
        order = [places[one][0] for one in texts]
        wanted = sorted(order, reverse=pattern.facts.latest)
        return None if order == wanted else f"the order {order} instead of {wanted}"

    def _shown(self, records: list[Record]) -> list[str]:
        """The records as texts, with the fields that the pattern returns."""
        results = self.plan.pattern.results
        shown = results[0] if len(results) == 1 else None
        return [self._text(shown or record.model, record) for record in records]

    def _text(self, result: type[Any], values: Values) -> str:
        """The fields of `result` and their values as text, without fields that each write sets."""
        left_out = counted(self.table.model.entity(entity_of(result)))
        return text({n: values[n] for n in result.model_fields if n not in left_out})
