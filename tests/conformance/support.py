"""The vocabulary of all conformance tests: values, tables and refusals, over a boto3 client.

A test of this suite knows nothing about hashrange: it sees only a client and its answers.
"""

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from botocore import xform_name
from botocore.exceptions import ClientError

Client = Any
Response = dict[str, Any]

# ---- values ----


def wire(value: Any) -> dict[str, Any]:
    """A Python value as an AttributeValue: 1 is {"N": "1"}, {"x"} is {"SS": ["x"]}."""
    return dict(TypeSerializer().serialize(value))


def item(attributes: Mapping[str, Any] | None = None, /, **more: Any) -> dict[str, Any]:
    """Python values as an item; names that are no Python identifiers go in the mapping."""
    return {name: wire(value) for name, value in {**(attributes or {}), **more}.items()}


def plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An item as Python values."""
    return {name: TypeDeserializer().deserialize(value) for name, value in attributes.items()}


def plains(response: Response) -> list[dict[str, Any]]:
    """The items of a Query or Scan as Python values."""
    return [plain(attributes) for attributes in response["Items"]]


def drop_none(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A request without the members that are None."""
    return {name: value for name, value in parameters.items() if value is not None}


# ---- cases ----


def cases(names: str, rows: Iterable[Sequence[Any]]) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize` by a table whose first column names the case, if it is a text."""
    table = list(rows)
    texts = [row[0] if isinstance(row[0], str) else None for row in table]
    ids = [text and re.sub(r"[^ -~]|::", "_", text)[:60] for text in texts]
    return pytest.mark.parametrize(names.replace(" ", "").split(","), table, ids=ids)


# ---- calls and refusals ----


def call(client: Client, operation: str, **parameters: Any) -> Response:
    """Call an operation by its API name; the response without its metadata."""
    response: Response = getattr(client, xform_name(operation))(**parameters)
    response.pop("ResponseMetadata")
    return response


def refused(expected: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Response:
    """Call the function, which must raise `expected`, and return the error's body.

    `expected` is "Type: message". In it, … stands for any text. DynamoDB is wrapping more and
    more messages in "1 validation error detected: ", region by region, so that one is optional.
    """
    with pytest.raises(ClientError) as caught:
        function(*args, **kwargs)
    error = caught.value.response["Error"]
    assert_message(expected, f"{error['Code']}: {error['Message']}")
    return dict(caught.value.response)


def assert_message(expected: str, seen: str) -> None:
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    unwrapped = seen.replace("1 validation error detected: ", "", 1)
    candidates = (seen, unwrapped)
    assert any(re.fullmatch(pattern, text, re.DOTALL) for text in candidates), (
        f"expected: {expected}\nseen:     {seen}"
    )


# ---- tables ----


@dataclass(frozen=True)
class Index:
    """`keys` as in `key_schema`; `projection` is ALL, KEYS_ONLY, or the names of an INCLUDE."""

    name: str
    keys: str
    projection: str | Sequence[str] = "ALL"
    local: bool = False

    def definition(self) -> dict[str, Any]:
        include = not isinstance(self.projection, str)
        return {
            "IndexName": self.name,
            "KeySchema": key_schema(self.keys),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(self.projection)}
            if include
            else {"ProjectionType": self.projection},
        }


def gsi(name: str, keys: str, projection: str | Sequence[str] = "ALL") -> Index:
    return Index(name, keys, projection)


def lsi(name: str, keys: str, projection: str | Sequence[str] = "ALL") -> Index:
    return Index(name, keys, projection, local=True)


def _elements(keys: str) -> Iterator[tuple[str, str, str]]:
    """ "a,b:N/c" is (a, S, HASH), (b, N, HASH), (c, S, RANGE)."""
    for part, key_type in zip(keys.split("/"), ("HASH", "RANGE"), strict=False):
        for element in part.split(","):
            name, _, attribute_type = element.partition(":")
            yield name, attribute_type or "S", key_type


def key_schema(keys: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": key_type} for name, _, key_type in _elements(keys)]


def attribute_definitions(*keys: str) -> list[dict[str, str]]:
    types = {name: kind for text in keys for name, kind, _ in _elements(text)}
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def definition(keys: str, *indexes: Index, **parameters: Any) -> dict[str, Any]:
    """CreateTable's parameters but the name: `definition("pk/sk:N", gsi("byOwner", "owner"))`."""
    local = [index.definition() for index in indexes if index.local]
    broad = [index.definition() for index in indexes if not index.local]
    return drop_none(
        {
            "KeySchema": key_schema(keys),
            "AttributeDefinitions": attribute_definitions(keys, *(i.keys for i in indexes)),
            "LocalSecondaryIndexes": local or None,
            "GlobalSecondaryIndexes": broad or None,
            "BillingMode": "PAY_PER_REQUEST",
            **parameters,
        }
    )


@dataclass(frozen=True)
class Table:
    """A table of one test, and the calls that most tests make on it."""

    client: Client
    name: str

    def call(self, operation: str, **parameters: Any) -> Response:
        return call(self.client, operation, TableName=self.name, **parameters)

    def refused(self, expected: str, operation: str, **parameters: Any) -> Response:
        return refused(expected, self.call, operation, **parameters)

    def put(self, *items: Mapping[str, Any]) -> None:
        for values in items:
            self.call("PutItem", Item=item(values))

    def get(self, **key: Any) -> dict[str, Any] | None:
        """The item as Python values, read consistently; None if there is none."""
        response = self.call("GetItem", Key=item(key), ConsistentRead=True)
        return plain(response["Item"]) if "Item" in response else None

    def query(self, condition: str, /, **parameters: Any) -> Response:
        """Query; `values` holds Python values: `query("pk = :p", values={":p": "a"})`."""
        values = item(parameters.pop("values", {}))
        return self.call(
            "Query",
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **parameters,
        )

    def all(self, **parameters: Any) -> list[dict[str, Any]]:
        """Every item that a Scan finds, over all its pages."""
        return [found for page in self.pages("Scan", **parameters) for found in plains(page)]

    def pages(self, operation: str, **parameters: Any) -> Iterator[Response]:
        """The pages of a Query or Scan, each asked for with the last one's LastEvaluatedKey."""
        while True:
            page = self.call(operation, **parameters)
            yield page
            if "LastEvaluatedKey" not in page:
                return
            parameters["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def wait(self) -> Response:
        """Wait until the table and its indexes are ACTIVE; its description."""
        for _ in range(600):
            description: Response = self.call("DescribeTable")["Table"]
            indexes = description.get("GlobalSecondaryIndexes", [])
            if {description["TableStatus"], *(i["IndexStatus"] for i in indexes)} == {"ACTIVE"}:
                return description
            time.sleep(0.05)
        raise TimeoutError(f"{self.name} does not become ACTIVE")


NewTable = Callable[..., Table]


def unique_name(prefix: str = "conformance") -> str:
    return f"{prefix}-{uuid.uuid4().hex}"


@contextmanager
def tables(client: Client) -> Iterator[NewTable]:
    """Gives `new_table(keys, *indexes, **parameters)`, and deletes at the end what it made."""
    made: list[Table] = []

    def new_table(keys: str = "pk", *indexes: Index, **parameters: Any) -> Table:
        table = Table(client, unique_name())
        table.call("CreateTable", **definition(keys, *indexes, **parameters))
        made.append(table)
        table.wait()
        return table

    yield new_table
    for table in made:
        try:
            table.call("DeleteTable")
        except client.exceptions.ResourceNotFoundException:
            continue
