"""Every parser under atheris: only errors of the API may be raised, and nothing may hang.

    make fuzz ARGS="http -max_total_time=60"

The first argument names the parser; the rest are libFuzzer's. It starts from the texts that the
parsers' tests have, unless a folder of its own is among the arguments.
"""

import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import atheris

with atheris.instrument_imports(include=["hashrange"]):
    import hashrange
    from hashrange import wire
    from hashrange.expressions import Expressions, partiql
    from hashrange.model.errors import ApiError, InternalServerError
    from hashrange.model.tables import TableOrIndex
    from hashrange.model.values import Item
    from hashrange.operations import OPERATIONS

TESTS = Path(__file__).parents[1]
TARGETS = wire.targets(("GetItem", "PutItem"))
HEAD = b"Host: x\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n"
SIGNED = b"POST /?%b HTTP/1.1\r\n" + HEAD + b"%b\r\n\r\n"
AUTHORIZATION = (
    b"Authorization: AWS4-HMAC-SHA256 Credential=AKID/20260101/r/dynamodb/aws4_request, "
    b"SignedHeaders=host, Signature=00\r\nX-Amz-Date: 20260101T000000Z"
)
ITEM: Item = {"a": {"M": {"b": {"L": [{"S": "x"}, {"N": "1"}]}}}, "b": {"SS": ["x"]}}
NAMES = sorted(OPERATIONS)
DATABASE = hashrange.connect()
DATABASE.execute(
    "CreateTable",
    {
        "TableName": "abc",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    },
)
FINE = b"""
PutItem {"TableName":"abc","Item":{"a":{"S":"x"},"b":{"L":[{"N":"1"}]}},"ReturnValues":"ALL_OLD"}
UpdateItem {"TableName":"abc","Key":{"a":{"S":"x"}},"UpdateExpression":"ADD c :v",\
"ExpressionAttributeValues":{":v":{"SS":["b"]}},"ReturnValues":"UPDATED_NEW"}
Query {"TableName":"abc","KeyConditionExpression":"a = :v",\
"ExpressionAttributeValues":{":v":{"S":"x"}},"FilterExpression":"size(b) > :v"}
Query {"TableName":"abc","KeyConditions":{"a":{"ComparisonOperator":"EQ",\
"AttributeValueList":[{"S":"x"}]}},"QueryFilter":{"b":{"ComparisonOperator":"NULL"}}}
Scan {"TableName":"abc","ExclusiveStartKey":{"a":{"S":"x"}},"Segment":0,"TotalSegments":2}
BatchWriteItem {"RequestItems":{"abc":[{"DeleteRequest":{"Key":{"a":{"S":"x"}}}}]}}
TransactWriteItems {"TransactItems":[{"Update":{"TableName":"abc","Key":{"a":{"S":"x"}},\
"UpdateExpression":"SET b[1].c = if_not_exists(d, a)"}}],"ClientRequestToken":"t"}
ExecuteStatement {"Statement":"SELECT * FROM abc WHERE a = ?","Parameters":[{"S":"x"}],"Limit":1}
UpdateTable {"TableName":"abc","StreamSpecification":{"StreamEnabled":true,\
"StreamViewType":"NEW_IMAGE"}}
"""


# ---- the parsers ----


def http(data: bytes) -> None:
    """Whole, and cut in the middle: the number of answers is the same."""
    connection, cut = wire.Connection(TARGETS), wire.Connection(TARGETS)
    events = connection.feed(data)
    middle = len(data) // 2
    assert len(cut.feed(data[:middle]) + cut.feed(data[middle:])) == len(events)


def signature(data: bytes) -> None:
    """Query, then headers, after a blank line."""
    query, _, headers = data.partition(b"\n\n")
    verifier = wire.Verifier(wire.KeyRing(wire.read_keys("AKID secret")), lambda: 1767225600.0)
    for event in wire.Connection(TARGETS, verifier).feed(SIGNED % (query, headers)):
        assert isinstance(event, wire.Answer), "nobody can guess a signature"


def expression(data: bytes) -> None:
    text = data.decode("utf-8", "replace")

    def expressions() -> Expressions:
        return Expressions({"#a": "a"}, {":v": {"N": "1"}, ":w": {"L": [{"S": "x"}]}})

    with suppress(ApiError):
        expressions().condition(text).matches(ITEM)
    with suppress(ApiError):
        condition = expressions().key_condition(text).as_key_condition()
        view = TableOrIndex(space=1, hash=("a",), range=("b",))
        condition.check_partition(view)
        condition.resolve(view, {"a": "S", "b": "N"})
    with suppress(ApiError):
        expressions().projection(text).project(ITEM)
    with suppress(ApiError):
        expressions().update(text).apply(ITEM)


def statement(data: bytes) -> None:
    with suppress(ApiError):
        parsed = partiql.parse(data.decode("utf-8", "replace"))
        partiql.bind(parsed, [{"N": "1"}, {"S": "x"}][: str(parsed).count("Parameter")])


def body(data: bytes) -> None:
    """The first byte is an operation's number."""
    if data:
        with suppress(ApiError):
            try:
                DATABASE.runtime.call(NAMES[data[0] % len(NAMES)], data[1:])
            except InternalServerError as error:
                raise AssertionError("a mistake of ours") from error


# ---- the initial corpus ----


def cases(*files: str) -> Iterable[bytes]:
    """The first line of each case of these files."""
    for file in files:
        text = (TESTS / file).read_bytes()
        yield from re.findall(rb"^(?!//|given |#)\S.*", text, re.MULTILINE)


def requests() -> Iterable[bytes]:
    for line in (*cases("model/refusals.txt"), *FINE.replace(b"\\\n", b"").splitlines()):
        name, _, content = line.partition(b" ")
        if name.decode() in OPERATIONS:
            yield bytes([NAMES.index(name.decode())]) + content


PARSERS: dict[str, tuple[Callable[[bytes], None], Iterable[bytes]]] = {
    "http": (
        http,
        [b"POST / HTTP/1.1\r\n%bContent-Type: application/x-amz-json-1.0\r\n"
         b"Content-Length: 2\r\n%b\r\n\r\n{}" % (HEAD, AUTHORIZATION),
         b"POST / HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\n\r\n" % HEAD],
    ),
    "signature": (
        signature,
        [b"\n\n" + AUTHORIZATION, b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z"],
    ),
    "expression": (
        expression,
        cases(*(f"expressions/{name}.txt" for name in (
            "conditions", "key_conditions", "projections", "updates", "syntax_errors"))),
    ),
    "statement": (statement, cases("expressions/partiql.txt", "expressions/partiql_keys.txt")),
    "body": (body, requests()),
}  # fmt: skip
"""By name: what is called, and with what first."""


def main(arguments: list[str]) -> Any:
    if len(arguments) < 2 or arguments[1] not in PARSERS:
        sys.exit(f"which parser? {', '.join(PARSERS)}")
    parser, seeds = PARSERS[arguments.pop(1)]
    with TemporaryDirectory() as folder:
        for number, seed in enumerate(seeds):
            (Path(folder) / str(number)).write_bytes(seed)
        if all(argument.startswith("-") for argument in arguments[1:]):
            arguments.append(folder)
        atheris.Setup(arguments, parser)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
