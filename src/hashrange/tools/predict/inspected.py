"""A time-lapse of the partitions of a table or an index, from the splits in `Database.inspect`.

Each new partition has a higher number, so the numbers show the order of the splits. The times of
the splits are not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hashrange.model.partitions import HASH_BYTES
from hashrange.tools.predict.lapse import Cell, Lapse, drawn

Partition = Mapping[str, Any]


def lapse(title: str, source: Mapping[str, Any]) -> Lapse:
    """A time-lapse with one row for the first partitions, and one row after each split. The last
    row is the present."""
    partitions: Sequence[Partition] = source["partitions"]
    amount, what = _amount(partitions)
    most = max((amount(each) for each in partitions), default=0) or 1
    rows = [
        (label, 1.0, [Cell(start, min(size / most, 1.0)) for start, size in cells])
        for label, cells in _rows(partitions, amount)
    ]
    return Lapse(title, rows, f"colour: {what}, relative to the partition that has the most")


def picture(tables: Sequence[Mapping[str, Any]]) -> str:
    """The partitions of tables and their global indexes, as SVG."""
    lapses = []
    for table in tables:
        lapses.append(lapse(f"table {table['table']}", table))
        for index in table["indexes"]:
            if "partitions" in index:
                lapses.append(lapse(f"index {index['name']}", index))
    return drawn("Partitions", lapses)


def _amount(partitions: Sequence[Partition]) -> tuple[Any, str]:
    """A function that returns a partition's figure, and the name of this figure: consumed units if
    they were measured, otherwise bytes."""
    if any(each.get("read_units") or each.get("write_units") for each in partitions):
        return lambda each: each["read_units"] + each["write_units"], "units consumed"
    return lambda each: each["bytes"], "bytes"


def _rows(
    partitions: Sequence[Partition], amount: Any
) -> Iterator[tuple[str, list[tuple[bytes, float]]]]:
    starts = {each["number"]: bytes.fromhex(each["from"]) for each in partitions}
    later = sorted(number for number, start in starts.items() if len(start) > HASH_BYTES)
    there = [number for number in starts if number not in later]
    for added in (None, *later):
        if added is not None:
            there.append(added)
        begun = sorted(starts[number] for number in there)
        sizes = dict.fromkeys(begun, 0.0)
        for each in partitions:
            start = starts[each["number"]]
            sizes[[at for at in begun if at <= start][-1]] += amount(each)
        label = "now" if added == (later[-1] if later else None) else f"{len(there)} parts"
        yield label, list(sizes.items())
