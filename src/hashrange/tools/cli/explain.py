"""hashrange explain"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hashrange.failing import fail
from hashrange.tools.cli.commands import STORE_HELP, command, database_name, opened
from hashrange.tools.explained import lines_of

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, explain)
    parser.add_argument("path", metavar="DB", type=database_name, help=STORE_HELP)
    parser.add_argument(
        "request",
        metavar="REQUEST",
        help='a PartiQL statement, or JSON such as {"GetItem": {"TableName": ..., "Key": ...}}',
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def explain(path: Path | str, request: str, json: bool) -> None:
    """Show what a request would read, write and consume now. Nothing is changed."""
    from hashrange.model.errors import ApiError

    operation, members = _read(request)
    with opened(path) as database:
        try:
            explained = database.explain(operation, members)
        except ApiError as error:
            fail(f"{error.code}: {error.message}")
    print(_as_json(explained) if json else "\n".join(lines_of(explained)))


def _read(text: str) -> tuple[str, dict[str, Any]]:
    if not text.lstrip().startswith("{"):
        return "ExecuteStatement", {"Statement": text}
    try:
        request = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as problem:
        fail(f"the request is not JSON: {problem}")
    if len(request) != 1 or not isinstance(next(iter(request.values())), dict):
        fail('name the operation: {"GetItem": {"TableName": ..., "Key": ...}}')
    [(operation, members)] = request.items()
    return operation, members


def _as_json(explained: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(explained), indent=2).decode()
