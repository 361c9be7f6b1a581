"""Explanations of `Database.explain` as text."""

from typing import Any

from hashrange.amounts import counted


def lines_of(found: dict[str, Any]) -> list[str]:
    """An explanation in lines of text."""
    lines = [
        f"{found['operation']}: {_units(found['read_units'], found['write_units'])}",
        f"  {counted(found['rows_read'], 'row')} read ({counted(found['bytes_read'], 'byte')}), "
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
        lines.append(f"  the request would be refused: {code}: {message}")
    return lines


def _units(read: float, write: float) -> str:
    parts = [
        f"{units:g} {kind} {'unit' if units == 1 else 'units'}"
        for units, kind in ((read, "read"), (write, "write"))
        if units
    ]
    return " and ".join(parts) or "no units"
