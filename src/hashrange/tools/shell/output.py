"""The destination of results, and a writer for each mode: table, json, csv."""

import csv
import json
import shutil
from collections.abc import Callable, Sequence
from tempfile import SpooledTemporaryFile
from typing import Literal, Protocol, TextIO, get_args

from hashrange.amounts import counted
from hashrange.tools.shell.execution import Item
from hashrange.tools.shell.values import csv_text, json_item, printable

Mode = Literal["table", "json", "csv"]
MODES: tuple[Mode, ...] = get_args(Mode)

_SPOOLED_BYTES = 8 << 20
_WITHOUT_END = 100_000
"""The width of tables, in columns, if the output is not a terminal."""


class Output:
    """A file or a terminal. `name` is the file's name, if `.output` opened it."""

    def __init__(self, file: TextIO, name: str = "") -> None:
        self.file = file
        self.name = name
        self.terminal = file.isatty()

    @property
    def width(self) -> int:
        return shutil.get_terminal_size().columns if self.terminal else _WITHOUT_END

    def line(self, text: str) -> None:
        self.file.write(f"{text}\n")

    @property
    def default_mode(self) -> Mode:
        return "table" if self.terminal else "json"


class Writer(Protocol):
    """Takes the items of a result, page by page.

    `end` is called after the last page; `more` says whether the result has more items.
    """

    pages: bool
    """Whether each page can be shown separately."""

    def page(self, items: Sequence[Item]) -> None: ...
    def end(self, more: bool) -> None: ...


class TableWriter:
    """A table for each page, as wide as the terminal, and the number of items at the end.

    `columns` are the columns that the statement names. None means all attributes, beginning with
    the `key` attributes.
    """

    pages = True

    def __init__(self, output: Output, columns: list[str] | None, key: Sequence[str]) -> None:
        from rich.console import Console

        self._output = output
        self._console = Console(
            file=output.file, width=output.width, markup=False, highlight=False, emoji=False
        )
        self._columns = columns
        self._key = key
        self._count = 0

    def page(self, items: Sequence[Item]) -> None:
        from hashrange.tools.shell.tables import columns_of, print_table

        names = self._columns or columns_of(items, self._key)
        if items:
            print_table(self._console, names, items, self._key)
        self._count += len(items)

    def end(self, more: bool) -> None:
        count = counted(self._count)
        self._output.line(f"{count}; there are more" if more else count)


class JsonWriter:
    """One JSON object on each line."""

    pages = True

    def __init__(self, output: Output) -> None:
        self._output = output

    def page(self, items: Sequence[Item]) -> None:
        for item in items:
            self._output.line(json_item(item))

    def end(self, more: bool) -> None:
        """Do nothing: nothing follows the last line."""


class CsvWriter:
    """A header and a line for each item.

    If the statement does not name its columns, the header needs the attributes of all items, so the
    items are kept in a temporary file until the last page has arrived.
    """

    pages = False

    def __init__(self, output: Output, columns: list[str] | None, key: Sequence[str]) -> None:
        self._rows = csv.writer(output.file, lineterminator="\n")
        self._shown: Callable[[str], str] = printable if output.terminal else str
        self._columns = columns
        self._key = key
        self._others: set[str] = set()
        if columns is None:
            self._waiting = SpooledTemporaryFile(  # noqa: SIM115, it is closed at the end
                _SPOOLED_BYTES, "w+", encoding="ascii"
            )
        else:
            self._write(columns)

    def page(self, items: Sequence[Item]) -> None:
        for item in items:
            row = {name: csv_text(value) for name, value in item.items()}
            if self._columns is not None:
                self._write([row.get(name, "") for name in self._columns])
            else:
                self._others.update(row)
                self._waiting.write(f"{json.dumps(row)}\n")

    def end(self, more: bool) -> None:
        if self._columns is not None:
            return
        first = [name for name in self._key if name in self._others]
        names = [*first, *sorted(self._others - {*first})]
        if names:
            self._write(names)
        with self._waiting:
            self._waiting.seek(0)
            for line in self._waiting:
                row = json.loads(line)
                self._write([row.get(name, "") for name in names])

    def _write(self, fields: Sequence[str]) -> None:
        self._rows.writerow([self._shown(field) for field in fields])


def writer(mode: Mode, output: Output, columns: list[str] | None, key: Sequence[str]) -> Writer:
    if mode == "json":
        return JsonWriter(output)
    return (TableWriter if mode == "table" else CsvWriter)(output, columns, key)
