"""Every parser under atheris: nothing may escape but the API's own errors, and nothing hang.

    make fuzz ARGS="http -max_total_time=60"

The first argument names the parser; the rest are libFuzzer's.
"""

import sys
from collections.abc import Callable
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["hashrange"]):
    from hashrange import wire
    from hashrange.expressions import Expressions
    from hashrange.model.errors import ApiError
    from hashrange.model.validation import validate

TARGETS = wire.targets(("GetItem", "PutItem"))
SIGNED = b"POST /?%b HTTP/1.1\r\nHost: x\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n%b\r\n\r\n"


def http(data: bytes) -> None:
    wire.Connection(TARGETS).feed(data)


def signature(data: bytes) -> None:
    """Query, then headers, after a blank line."""
    query, _, headers = data.partition(b"\n\n")
    verifier = wire.Verifier(wire.read_keys("AKID secret"), lambda: 1767225600.0)
    for event in wire.Connection(TARGETS, verifier).feed(SIGNED % (query, headers)):
        assert isinstance(event, wire.Answer), "nobody can guess a signature"


def expression(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for parse in (Expressions.condition, Expressions.projection, Expressions.update):
        with suppress(ApiError):
            parse(Expressions(None, None), text)


def body(data: bytes) -> None:
    for operation in ("PutItem", "Query", "TransactWriteItems", "CreateTable"):
        with suppress(ApiError):
            validate(operation, data)


PARSERS: dict[str, Callable[[bytes], None]] = {
    parser.__name__: parser for parser in (http, signature, expression, body)
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARSERS:
        sys.exit(f"which parser? {', '.join(PARSERS)}")
    parser = PARSERS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, parser)
    atheris.Fuzz()
