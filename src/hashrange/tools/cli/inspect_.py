"""hashrange inspect"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hashrange.amounts import counted, size
from hashrange.database.addresses import printed
from hashrange.failing import fail
from hashrange.tools.cli.commands import STORE_HELP, command, database_name, opened

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, inspect_)
    parser.add_argument("path", metavar="DB", type=database_name, help=STORE_HELP)
    parser.add_argument("table", metavar="TABLE", nargs="?", help="default: all tables")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        help="draw the partitions, and how they were split (SVG)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def inspect_(path: Path | str, table: str | None, picture: Path | None, json: bool) -> None:
    """Show the partitions, the largest item collections and the indexes of tables."""
    name = printed(path)
    with opened(path) as database:
        tables = database.inspect(table)
        figures = database.figures()
    if table is not None and not tables:
        fail(f"{name}: no table {table}")
    if picture is not None:
        from hashrange.tools.cli.design.model_files import write_result
        from hashrange.tools.predict.inspected import picture as drawing

        write_result(drawing(tables), picture)
    if json:
        content = {"file": figures, "tables": tables}
        print(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
        return
    print("\n".join(_lines(name, figures, tables)))


def _lines(name: str, figures: dict[str, int], tables: list[dict[str, Any]]) -> list[str]:
    sizes = [
        f"{figure.removesuffix('_bytes').replace('_', ' ')} {size(figures[figure])}"
        for figure in figures
        if figure.endswith("_bytes") and figure != "page_bytes"
    ]
    lines = [f"{name}: {', '.join(sizes)}" if sizes else f"{name}:"]
    if "format" in figures:
        lines.append(f"format {figures['format']}, {figures['free_pages']:,} free pages")
    for table in tables:
        lines += ["", *_source(f"{table['table']} ({table['billing']})", table)]
        for index in table["indexes"]:
            if index["local"]:
                lines.append(f"  local index {index['name']}: {_content(index)}")
            elif index.get("vector"):
                lines.append(f"  vector index {index['name']}: {_content(index)}")
            else:
                lines += [f"  {line}" for line in _source(f"index {index['name']}", index)]
                if index.get("lag_seconds"):
                    lines.append(f"    {index['lag_seconds']:.1f} seconds behind its table")
    return lines


def _source(name: str, source: dict[str, Any]) -> list[str]:
    lines = [f"{name}: {_content(source)}"]
    starts = [_start(part) for part in source["partitions"]]
    for part, start, end in zip(source["partitions"], starts, [*starts[1:], "end"], strict=True):
        lines.append(f"  partition {part['number']}, {start} to {end}: {_content(part)}")
    collections = source["collections"]
    if collections["largest"]:
        walked = (
            "" if collections["complete"] else f" of the first {collections['rows_walked']:,} rows"
        )
        lines.append(f"  largest item collections{walked}:")
    for each in collections["largest"]:
        key = ", ".join(f"{name} = {value}" for name, value in _plain(each["key"]))
        lines.append(f"    {key}: {_content(each)}")
    for report in source.get("contributor_insights", {}).get("reports", ()):
        lines.append(f"  {report['rule']}:")
        for each in report["contributors"]:
            key = ", ".join(f"{name} = {value}" for name, value in _plain(each["key"]))
            lines.append(f"    {key}: {each['count']:g}")
    return lines


def _start(part: dict[str, Any]) -> str:
    """The hash at which a partition begins, followed by a sort key if it begins within an item
    collection."""
    start = part["from"][:8] or "0"
    if not part["from_key"]:
        return start
    return " ".join([start, *(f"{name} = {text}" for name, text in _plain(part["from_key"]))])


def _plain(key: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """The names and values of a key, on one line even if they contain line breaks."""
    return [(name, ascii(text)) for name, value in key.items() for text in value.values()]


def _content(source: dict[str, Any]) -> str:
    return f"{counted(source['items'])}, {size(source['bytes'])}"
