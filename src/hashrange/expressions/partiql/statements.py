"""PartiQL statements, and how a parsed statement is bound to its parameters."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from hashrange.expressions.partiql import tree
from hashrange.expressions.partiql.binding import condition_of, path_of, update_of
from hashrange.expressions.partiql.tree import Order, Returning, Source
from hashrange.expressions.partiql.values import Parameters, item_of
from hashrange.expressions.paths import check_disjoint, reader
from hashrange.expressions.tree import NO_VALUES, Node, Path
from hashrange.expressions.updates import Update as Changes
from hashrange.model.errors import ValidationException
from hashrange.model.values import Item

MANDATORY_KEY = "Where clause does not contain a mandatory equality on all key attributes"


class Columns:
    """The columns of a SELECT. The name of a column is the last name in its path."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._columns = [(_column_name(path), reader(path)) for path in paths]
        self.attributes = tuple(dict.fromkeys(str(path.parts[0]) for path in paths))
        """The top-level attributes that are read, in the order of the text."""
        self.names = tuple(name for name, _ in self._columns)
        """The names of the columns, in the order of the text."""
        seen = set()
        for name in self.names:
            if name in seen:
                raise ValidationException(f"Duplicate identifiers in select clause: {name}")
            seen.add(name)

    def project(self, item: Item) -> Item:
        columns = ((name, read(item, NO_VALUES)) for name, read in self._columns)
        return {name: value for name, value in columns if value is not None}


class Select(NamedTuple):
    """A SELECT. `columns` is None for all attributes. `order` has the terms of ORDER BY.

    `fault` is an error in the columns, which the service reports after errors of the table and
    index.
    """

    table_name: str
    index_name: str | None
    columns: Columns | None = None
    where: Node | None = None
    order: tuple[Order, ...] = ()
    fault: ValidationException | None = None

    def check_columns(self) -> None:
        """Raises the `fault` of the columns, if there is one."""
        if self.fault is not None:
            raise self.fault


class Insert(NamedTuple):
    table_name: str
    item: Item


class Update(NamedTuple):
    table_name: str
    where: Node
    changes: Changes
    returning: Returning | None


class Delete(NamedTuple):
    table_name: str
    where: Node
    returning: Returning | None


class Exists(NamedTuple):
    """A condition check. The WHERE clause of `select` has the item's key and the condition."""

    select: Select


Write: TypeAlias = Insert | Update | Delete
Statement: TypeAlias = Select | Write | Exists


def bind(parsed: tree.Statement, parameters: Parameters) -> Statement:
    """The statement with `parameters` in place of its question marks. Their values must be
    canonical."""
    match parsed:
        case tree.Select():
            return _select(parsed, parameters)
        case tree.Exists(select):
            bound = _select(select, parameters)
            bound.check_columns()
            return Exists(bound)
        case tree.Insert(source, value):
            return _insert(source, value, parameters)
        case tree.Update(source, assignments, where, returning):
            name = _table_of(source)
            changes = update_of(assignments, parameters)
            return Update(name, _required(where, parameters), changes, returning)
        case tree.Delete(source, where, returning):
            return _delete(source, where, returning, parameters)


def _select(parsed: tree.Select, parameters: Parameters) -> Select:
    table, *index = parsed.source
    index_name = index[0] if index else None
    try:
        columns = None if parsed.columns is None else _columns(parsed.columns)
    except ValidationException as fault:
        return Select(table, index_name, fault=fault)
    if parsed.order and parsed.where is None:
        raise ValidationException(
            "Must have WHERE clause in the statement when using ORDER BY clause."
        )
    where = None if parsed.where is None else condition_of(parsed.where, parameters)
    return Select(table, index_name, columns, where, parsed.order)


def _columns(terms: Sequence[tree.Term]) -> Columns:
    paths = [path_of(term) for term in terms]
    columns = Columns(paths)
    check_disjoint("Statement", paths[::-1])  # the service's messages name the later path first
    return columns


def _insert(source: Source, value: tree.Term, parameters: Parameters) -> Insert:
    if len(source) > 1:
        raise ValidationException(
            "FROM clause may only contain a single table name in data manipulation statements"
        )
    if value.kind != "struct":
        raise ValidationException(
            "Unsupported format in item expression. Please use struct format {...} to express "
            f"item values for insert statement. {value.at.place}"
        )
    return Insert(source[0], item_of(value, parameters))


def _delete(
    source: Source, where: tree.Term | None, returning: Returning | None, parameters: Parameters
) -> Delete:
    name = _table_of(source)
    if returning and returning != Returning("ALL", "OLD"):
        raise ValidationException(
            f"Invalid returning clause: RETURNING {' '.join(returning)} *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements."
        )
    return Delete(name, _required(where, parameters), returning)


def _table_of(source: Source) -> str:
    if len(source) > 1:
        raise ValidationException("This operation is not supported on an index")
    return source[0]


def _required(where: tree.Term | None, parameters: Parameters) -> Node:
    if where is None:
        raise ValidationException(MANDATORY_KEY)
    return condition_of(where, parameters)


def _column_name(path: Path) -> str:
    """The last name in a path, with the indexes after it: `m.a[0]` becomes `a[0]`."""
    parts = path.parts
    last = max(at for at, part in enumerate(parts) if isinstance(part, str))
    return str(parts[last]) + "".join(f"[{index}]" for index in parts[last + 1 :])
