"""hashrange explain"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hashrange.interfaces.cli.commands import command, database_name, fail, opened

if TYPE_CHECKING:
    from hashrange.interfaces.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, explain)
    parser.add_argument("path", metavar="DB", type=database_name, help="a file, or postgresql://…")
    parser.add_argument(
        "request",
        metavar="REQUEST",
        help='a PartiQL statement, or JSON such as {"GetItem": {"TableName": …, "Key": …}}',
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
        given = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as problem:
        fail(f"the request is not JSON: {problem}")
    if len(given) != 1 or not isinstance(next(iter(given.values())), dict):
        fail('name the operation: {"GetItem": {"TableName": …, "Key": …}}')
    [(operation, members)] = given.items()
    return operation, members


def _as_json(explained: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(explained), indent=2).decode()


def lines_of(found: dict[str, Any]) -> list[str]:
    """What `Database.explain` found, as text."""
    lines = [
        f"{found['operation']}: {_units(found['read_units'], found['write_units'])}",
        f"  {found['rows_read']:,} rows read ({found['bytes_read']:,} bytes), "
        f"{found['items_returned']:,} returned",
    ]
    for line in found["consumed"]:
        where = f"index {line['index']}" if line["index"] else "table"
        units = _units(line["read_units"], line["write_units"])
        lines.append(f"  {line['table']}, {where}, partition {line['partition']}: {units}")
    lines += [f"  {note}" for note in found["notes"]]
    if found["error"]:
        code = found["error"]["__type"].rpartition("#")[2]
        message = found["error"].get("message") or found["error"].get("Message", "")
        lines.append(f"  it would be refused: {code}: {message}")
    return lines


def _units(read: float, write: float) -> str:
    parts = [
        f"{units:g} {kind} units" for units, kind in ((read, "read"), (write, "write")) if units
    ]
    return " and ".join(parts) or "no units"
