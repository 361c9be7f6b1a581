"""Builds the request that the fields of the query builder describe."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from hashrange.tools.console.shapes import Source, TableShape
from hashrange.tools.console.values import ValueMistake, item_of, typed
from hashrange.tools.console.visits import Mistake, Visit

KEY_OPERATORS = {
    "=": "=",
    "<": "<",
    "<=": "≤",
    ">": ">",
    ">=": "≥",
    "between": "between",
    "begins_with": "begins with",
}
FILTER_OPERATORS = {
    **KEY_OPERATORS,
    "<>": "≠",
    "in": "is one of",
    "contains": "contains",
    "not_contains": "does not contain",
    "exists": "exists",
    "not_exists": "does not exist",
    "type": "has the type",
}
FILTER_TYPES = {
    "S": "String",
    "N": "Number",
    "BOOL": "Boolean",
    "NULL": "Null",
    "B": "Binary (base64)",
    "JSON": "DynamoDB JSON",
}
WITHOUT_VALUE = ("exists", "not_exists")

_PATH = re.compile(r"(?P<name>[^.\[\]]+)|(?P<index>\[\d+\])|\.")


@dataclass(frozen=True)
class Filter:
    name: str
    operator: str
    type: str
    value: str
    second: str


EMPTY_FILTER = Filter("", "=", "S", "", "")


@dataclass
class BuiltRequest:
    """A Query, or a Scan if no partition key is given. `members` are the request's parameters in
    boto3's form."""

    operation: str
    members: dict[str, Any]

    @property
    def method(self) -> str:
        return self.operation.lower()


def filters_of(visit: Visit) -> list[Filter]:
    """The filters in the fields of the form. Filters without an attribute are left out."""
    names = ("fname", "fop", "ftype", "fvalue", "fvalue2")
    columns = [visit.parameters.getlist(name) for name in names]
    rows = zip_longest(*columns, fillvalue="")
    return [Filter(row[0], row[1] or "=", row[2] or "S", row[3], row[4]) for row in rows if row[0]]


def request_of(visit: Visit, shape: TableShape, source: Source, limit: int) -> BuiltRequest:
    """The request that a form describes. Raises `Mistake` if a value does not fit its type."""
    made = _Expressions()
    form = visit.parameters
    members = source.request(shape.name)
    if partition := form.get("pk", ""):
        condition = made.comparison(source.hash, "=", _key(shape, source.hash, partition))
        if source.range and form.get("sk", ""):
            condition += " AND " + _sort_condition(made, shape, source.range, visit)
        members["KeyConditionExpression"] = condition
        if form.get("desc"):
            members["ScanIndexForward"] = False
    conditions = [made.filter(each) for each in filters_of(visit)]
    if conditions:
        members["FilterExpression"] = " AND ".join(conditions)
    if attributes := form.get("attributes", "").strip():
        paths = [path.strip() for path in attributes.split(",") if path.strip()]
        members["ProjectionExpression"] = ", ".join(made.path(path) for path in paths)
    if form.get("consistent") and (source.local or not source.name):
        members["ConsistentRead"] = True
    if made.names:
        members["ExpressionAttributeNames"] = made.names
    if made.values:
        members["ExpressionAttributeValues"] = made.values
    members["Limit"] = limit
    return BuiltRequest("Query" if partition else "Scan", members)


def _sort_condition(made: "_Expressions", shape: TableShape, name: str, visit: Visit) -> str:
    operator = visit.parameters.get("skop") or "="
    if operator not in KEY_OPERATORS:
        raise Mistake(f"{operator!r} is not an operator for a key")
    texts = [visit.parameters["sk"]]
    if operator == "between":
        texts.append(visit.parameters.get("sk2", ""))
    return made.comparison(name, operator, *(_key(shape, name, text) for text in texts))


def _key(shape: TableShape, name: str, text: str) -> dict[str, Any]:
    return _value(shape.types.get(name, "S"), text, name)


def _value(kind: str, text: str, where: str) -> dict[str, Any]:
    try:
        if kind == "JSON":
            return item_of('{"":' + text + "}")[""]
        if kind == "BOOL":
            return typed({"BOOL": {"true": True, "false": False}.get(text.lower(), text)}, where)
        if kind == "NULL":
            return {"NULL": True}
        return typed({kind: text.strip() if kind == "N" else text}, where)
    except ValueMistake as mistake:
        raise Mistake(str(mistake)) from None


class _Expressions:
    """Builds expressions with a placeholder for each name and value, because a name may be a
    reserved word."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, dict[str, Any]] = {}

    def path(self, text: str) -> str:
        """A path such as `address.lines[0]`, with placeholders for its names."""
        return "".join(self._steps(text))

    def _steps(self, text: str) -> Iterator[str]:
        for step in _PATH.finditer(text):
            yield self._name(step["name"]) if step["name"] else step[0]

    def _name(self, name: str) -> str:
        for placeholder, known in self.names.items():
            if known == name:
                return placeholder
        word = name if re.fullmatch(r"\w+", name, re.ASCII) else "n"
        placeholder = f"#{word}" if f"#{word}" not in self.names else f"#{word}{len(self.names)}"
        self.names[placeholder] = name
        return placeholder

    def comparison(self, name: str, operator: str, *values: dict[str, Any]) -> str:
        """A condition on a key attribute. `name` is the attribute's name. Unlike a path, it is not
        divided at dots and brackets."""
        return self._condition(self._name(name), name, operator, list(values))

    def filter(self, one: Filter) -> str:
        if one.operator not in FILTER_OPERATORS:
            raise Mistake(f"{one.operator!r} is not an operator for a filter")
        if one.type not in FILTER_TYPES:
            raise Mistake(f"{one.type!r} is not a type")
        texts = [one.value, one.second] if one.operator == "between" else [one.value]
        if one.operator == "in":
            texts = [text.strip() for text in one.value.split(",")]
        kind = "S" if one.operator == "type" else one.type
        values = [] if one.operator in WITHOUT_VALUE else [_value(kind, t, one.name) for t in texts]
        return self._condition(self.path(one.name), one.name, one.operator, values)

    def _condition(self, path: str, name: str, operator: str, values: list[dict[str, Any]]) -> str:
        word = re.sub(r"\W", "", name, flags=re.ASCII) or "v"
        holders = [self._hold(word, value) for value in values]
        match operator:
            case "between":
                return f"{path} BETWEEN {holders[0]} AND {holders[1]}"
            case "in":
                return f"{path} IN ({', '.join(holders)})"
            case "exists" | "not_exists":
                return f"attribute_{operator}({path})"
            case "type":
                return f"attribute_type({path}, {holders[0]})"
            case "begins_with" | "contains":
                return f"{operator}({path}, {holders[0]})"
            case "not_contains":
                return f"NOT contains({path}, {holders[0]})"
        return f"{path} {operator} {holders[0]}"

    def _hold(self, word: str, value: dict[str, Any]) -> str:
        placeholder = f":{word}"
        if placeholder in self.values:
            placeholder = f":{word}{len(self.values)}"
        self.values[placeholder] = value
        return placeholder
