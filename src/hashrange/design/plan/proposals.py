"""Proposing an index for a pattern that no key serves.

Candidates are planned as if the model had them, so a proposal always serves its pattern.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from hashrange.design.declare.draft import KEY_TYPES, natural_column
from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.templates import bind, parse
from hashrange.design.declare.known_values import known_values
from hashrange.design.declare.markers import PERIODS
from hashrange.design.declare.patterns import Argument, Pattern
from hashrange.design.declare.schema import Column, EntityKey, KeyColumn, Source
from hashrange.design.declare.table_model import TableModel
from hashrange.design.errors import DeclarationError
from hashrange.design.plan.planner import plan_variants
from hashrange.design.plan.plans import Plan, Unplanned

_PERIOD_SPECS = {"month": ":%Y-%m", "day": ":%Y-%m-%d", "hour": ":%Y-%m-%dT%H"}
BUCKETS = 24
_WIDTHS = {int: ":010d", Decimal: ":013.2f"}
_SIGNS = {"at least": ">=", "after": ">", "at most": "<=", "before": "<"}
KeyText = str | tuple[str, ...] | None
"""A template; or fields that are key attributes themselves; or None if there is no sort key."""


def plan(pattern: Pattern, model: TableModel) -> Plan | Unplanned:
    """The plan of a pattern, or the reason why it has none, with a proposal.

    Raises DeclarationError for an argument that fits no field or that no plan uses.
    """
    planned = plan_variants(pattern, model)
    if isinstance(planned, Plan) or planned.proposal:
        return planned
    several = next(_several_partitions(pattern, model), "")
    return replace(planned, proposal=several or _proposal(pattern, model))


def _several_partitions(pattern: Pattern, model: TableModel) -> Iterator[str]:
    """Decorators, as text: with any of them, a key of the table would serve the pattern."""
    for fact, text in _spread(pattern, model):
        try:
            spread = replace(pattern, facts=replace(pattern.facts, **fact))
            if isinstance(plan_variants(spread, model), Plan):
                yield text
        except DeclarationError:
            continue


def _spread(pattern: Pattern, model: TableModel) -> Iterator[tuple[dict[str, Any], str]]:
    if pattern.by_type is not None or pattern.search is not None:
        return
    if pattern.facts.buckets is None:
        limit = "where at_most limits how many partitions a call reads"
        text = f"@st.buckets(at_most={BUCKETS}), {limit}"
        yield {"buckets": BUCKETS}, text
    equal = {a.field for a in pattern.arguments if a.exact}
    for entity in (model.entity(one) for one in pattern.entities):
        for key in (entity.key, *entity.indexes):
            parts = [part for column in key.hash for part in column.template.placeholders]
            fields = {p.field for p in parts if not p.shards} - equal
            names = tuple(sorted({*pattern.facts.scatter, *fields}))
            if fields and all(known_values(entity.fields[name]) for name in fields):
                text = ", ".join(map(repr, names)).replace("'", '"')
                yield {"scatter": names}, f"@st.scatter({text})"


@dataclass(frozen=True)
class _Candidate:
    """An index that might be proposed, and the pattern that it would serve.

    `hash` is None for a local index. `filter` is the text of @st.where that the pattern would need.
    `eventual` says that the pattern would have to drop @st.consistent.
    """

    name: str
    hash: KeyText
    range: KeyText
    pattern: Pattern
    filter: str = ""
    eventual: bool = False

    def text(self, entities: Sequence[Entity]) -> str:
        parts = [repr(self.name)] + [_shown(part) for part in (self.hash, self.range) if part]
        function = "st.local" if self.hash is None else "st.index"
        declared = f"{function}({', '.join(parts)})".replace("'", '"')
        text = f"{' and '.join(map(str, entities))}: {declared}"
        if self.eventual:
            text = f"without @st.consistent, {text}"
        return f'{text}, with @st.where("{self.filter}")' if self.filter else text


def _shown(part: KeyText) -> str:
    return f"({', '.join(map(repr, part))},)" if isinstance(part, tuple) else repr(part)


def _proposal(pattern: Pattern, model: TableModel) -> str:
    """The first candidate that serves the pattern, as text; "" if none does."""
    models: Sequence[type[Any]] = pattern.entities
    if pattern.facts.through is not None:
        models = [pattern.facts.through]
    entities = [model.entity(m) for m in models]
    for candidate in _candidates(pattern, model, entities):
        try:
            extended = _extended(model, entities, candidate)
            served = isinstance(plan_variants(candidate.pattern, extended), Plan)
        except (DeclarationError, KeyError):
            continue  # e.g. a field that cannot be part of a key, or that an entity lacks
        if served:
            return candidate.text(entities)
    return ""


# ---- candidates ----


def _candidates(
    pattern: Pattern, model: TableModel, entities: Sequence[Entity]
) -> Iterator[_Candidate]:
    """The candidates, the preferred ones first: those without a filter, then those with one.

    For a consistent pattern, local indexes come before global ones.
    """
    plain = replace(pattern, facts=replace(pattern.facts, using=None))
    for text in _filters(plain):
        filtered = replace(plain, facts=replace(plain.facts, where=text or plain.facts.where))
        keys = list(_keys(filtered, entities, text))
        eventual = filtered
        if plain.facts.consistent:
            for _, sort in keys:
                yield _Candidate(model.free_index_name("LSI"), None, sort, filtered, text)
            eventual = replace(filtered, facts=replace(filtered.facts, consistent=False))
        for hash_key, sort in keys:
            name = model.free_index_name()
            if plain.facts.consistent:
                yield _Candidate(name, hash_key, sort, eventual, text, eventual=True)
            else:
                yield _Candidate(name, hash_key, sort, filtered, text)


def _filters(pattern: Pattern) -> Iterator[str]:
    """The filters to try, the first of which is none ("").

    A key can serve the range of only one field. So for each field with a range, there is a filter
    that compares the other fields with ranges.
    """
    yield ""
    ranged = [a for a in pattern.arguments if _is_range(a)]
    for field in dict.fromkeys(a.field for a in ranged):
        others = [_condition(a) for a in ranged if a.field != field]
        if others and None not in others:
            old = [pattern.facts.where] if pattern.facts.where else []
            yield " AND ".join([*old, *(text for text in others if text)])


def _condition(argument: Argument) -> str | None:
    if argument.operator == "begins with":
        return f"begins_with({argument.field}, :{argument.name})"
    sign = _SIGNS.get(argument.operator)
    return f"{argument.field} {sign} :{argument.name}" if sign else None


def _is_range(argument: Argument) -> bool:
    return not argument.exact and argument.operator not in (*PERIODS, "shard")


def _keys(
    pattern: Pattern, entities: Sequence[Entity], text: str
) -> Iterator[tuple[KeyText, KeyText]]:
    """Candidates for (partition key, sort key).

    A key has, in this order, the arguments that are compared for equality, one range, and the
    remaining fields of the primary key. Arguments in the filter `text` are left out.
    """
    entity = entities[0]
    arguments = [a for a in pattern.arguments if f":{a.name}" not in text.split()]
    arguments = [a for a in arguments if f":{a.name})" not in text]
    equal = [a for a in arguments if not _is_range(a)]
    parts = [_labelled(a) for a in equal if not a.optional]
    hash_key = "#".join(parts) or _sharded(entity, len(entities))
    leading = [f"{{{a.field}}}" for a in equal if a.optional]
    ranged = list(dict.fromkeys(a.field for a in arguments if _is_range(a)))
    known = {a.field for a in equal} | set(ranged)
    rest = [_written(entity, f) for f in entity.key.fields if f not in known]
    if len(entities) > 1:
        yield hash_key, "#".join(leading) or None
    elif not ranged:
        yield hash_key, "#".join([*leading, *rest]) or "info"
    else:
        [field, *_] = ranged
        kind = entity.fields[field]
        ordered = "#".join([*leading, _written(entity, field)])
        fixed = kind.python in (int, Decimal, date, datetime)
        template = "#".join([ordered, *rest]) if fixed else ordered
        natural = (field,) if kind.tag in KEY_TYPES and not leading else None
        sorts = [natural, template] if kind.tag == "N" else [template, natural]
        yield from ((hash_key, sort) for sort in sorts if sort)


def _sharded(entity: Entity, entities: int) -> str:
    """A partition key for a pattern without an argument for it.

    For one entity it has shards, because a single key would be hot. Several entities share one key.
    """
    alone = entities == 1 and bool(entity.key.fields)
    return f"{entity.name}#{{{entity.key.fields[-1]}|shard:10}}" if alone else entity.name


def _labelled(argument: Argument) -> str:
    spec = _PERIOD_SPECS.get(argument.operator, "")
    return f"{argument.field.removesuffix('_id')}#{{{argument.field}{spec}}}"


def _written(entity: Entity, field: str) -> str:
    return f"{{{field}{_WIDTHS.get(entity.fields[field].python, '')}}}"


# ---- the model with a candidate ----


def _extended(model: TableModel, entities: Sequence[Entity], candidate: _Candidate) -> TableModel:
    changed, source = {}, None
    for entity in entities:
        hash_key = entity.key.hash
        if candidate.hash is not None:
            hash_key = _columns(entity, candidate.hash, f"{candidate.name}-pk")
        range_key = _columns(entity, candidate.range, f"{candidate.name}-sk")
        source = Source(
            candidate.name,
            "LSI" if candidate.hash is None else "GSI",
            tuple(Column(c.attribute, c.tag) for c in hash_key),
            tuple(Column(c.attribute, c.tag) for c in range_key),
        )
        key = EntityKey(source, hash_key, range_key, None, candidate.name)
        changed[entity.name] = replace(entity, indexes=(*entity.indexes, key))
    assert source is not None
    return replace(
        model,
        indexes=(*model.indexes, source),
        entities=tuple(changed.get(e.name, e) for e in model.entities),
    )


def _columns(entity: Entity, part: KeyText, attribute: str) -> tuple[KeyColumn, ...]:
    if part is None:
        return ()
    if isinstance(part, tuple):
        return tuple(
            natural_column(name, entity.fields[name], entity.attributes[name], entity.model)
            for name in part
        )
    template = bind(parse(part, entity.model), entity.fields, entity.model, attribute)
    return (KeyColumn(attribute, "S", template),)
