"""Turns explanations, which `Database.explain` gives, into text."""

from typing import Any

from hashrange.amounts import counted


def lines_of(answer: dict[str, Any]) -> list[str]:
    """The lines of text for one explanation."""
    lines = [
        f"{answer['operation']}: {_units(answer['read_units'], answer['write_units'])}",
        f"  {counted(answer['rows_read'], 'row')} read ({counted(answer['bytes_read'], 'byte')}), "
        f"{answer['items_returned']:,} returned",
    ]
    for line in answer["consumed"]:
        where = f"index {line['index']}" if line["index"] else "table"
        units = _units(line["read_units"], line["write_units"])
        lines.append(f"  {line['table']}, {where}, partition {line['partition']}: {units}")
    lines += [f"  {note}" for note in answer["notes"]]
    if answer["error"]:
        code = answer["error"]["__type"].rpartition("#")[2]
        message = answer["error"].get("message") or answer["error"].get("Message", "")
        lines.append(f"  the request would be refused: {code}: {message}")
    return lines


def _units(read: float, write: float) -> str:
    parts = [
        f"{units:g} {kind} {'unit' if units == 1 else 'units'}"
        for units, kind in ((read, "read"), (write, "write"))
        if units
    ]
    return " and ".join(parts) or "no units"
