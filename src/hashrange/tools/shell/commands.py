"""The dot commands of the shell."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from hashrange.declared import tables
from hashrange.formats.items import DataError
from hashrange.tools.shell import schema
from hashrange.tools.shell.execution import interruptible
from hashrange.tools.shell.faults import ERRORS, Failed, failure
from hashrange.tools.shell.history import History
from hashrange.tools.shell.output import Mode, Output
from hashrange.tools.shell.plans import explain
from hashrange.tools.shell.session import Session
from hashrange.tools.shell.splitting import TooLong, as_command, entries
from hashrange.tools.shell.values import printable

_READ_LEVELS_MAX = 10
_WAITING = {"Delay": 1, "MaxAttempts": 600}


class Quit(Exception):
    """The user wants to leave the shell."""


class Command(NamedTuple):
    """A dot command. `run` is called with the text after the command's name."""

    usage: str
    help: str
    run: Callable[[str], None]


class Commands:
    """The commands of a session. `run` takes a statement or a command."""

    def __init__(self, session: Session, history: History | None = None) -> None:
        self._session = session
        self._history = history
        self._first_output = session.output
        self._reading: list[Path] = []
        self.by_name = {each.usage.split()[0]: each for each in self._all()}

    def _all(self) -> Sequence[Command]:
        # fmt: off
        return (
            Command(".tables", "the tables", self._tables),
            Command(".schema [TABLE]", "keys, indexes, billing, stream and counts", self._schema),
            Command(".indexes [TABLE]", "the indexes", self._indexes),
            Command(".create TABLE KEY", "a table, e.g. orders customer,sk:N", self._create),
            Command(".drop TABLE", "delete a table with its items", self._drop),
            Command(".mode table|json|csv", "how results are shown", self._mode),
            Command(".limit N|off", "show at most N items of a result", self._limit),
            Command(".capacity on|off", "show what each statement consumed", self._capacity),
            Command(".explain STATEMENT", "show what a statement would read", self._explain),
            Command(".read FILE", "run the statements in a file", self.read),
            Command(
                ".output [FILE]", "write results to FILE, or to the terminal again", self._output
            ),
            Command(".history on|off|clear", "keep statements for later sessions", self._keep),
            Command(".help", "this list", self._help),
            Command(".quit", "leave; so does Ctrl-D", self._quit),
        )
        # fmt: on

    def run(self, text: str) -> None:
        """Run a statement or a dot command. Raises `Failed` and `Quit`."""
        text = as_command(text)
        if not text.startswith("."):
            self._session.run(text)
            return
        name, _, rest = text.partition(" ")
        command = self.by_name.get(name.lower())
        if command is None:
            raise Failed(f"{printable(name)}: no such command; .help lists them")
        try:
            command.run(rest.strip())
        except ERRORS as error:
            raise failure(error) from None

    def close(self) -> None:
        """Close the file of `.output`."""
        if self._session.output is not self._first_output:
            with suppress(OSError):
                self._session.output.file.close()
            self._session.output = self._first_output

    def read(self, name: str) -> None:
        """Run the statements and commands in a file, up to the first error."""
        path = Path(_unquoted(name or _missing(".read FILE"))).expanduser()
        if len(self._reading) >= _READ_LEVELS_MAX:
            raise Failed(f"{path}: .read is nested more than {_READ_LEVELS_MAX} levels deep")
        self._reading.append(path)
        try:
            with path.open(encoding="utf-8") as file:
                for entry in entries(file):
                    self._run_of(path, entry.line, entry.text)
        except OSError as error:
            raise Failed(f"{printable(str(path))}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise Failed(f"{printable(str(path))}: is not UTF-8 text") from None
        except TooLong as error:
            raise Failed(f"{printable(str(path))}: {error}") from None
        finally:
            self._reading.pop()

    def _run_of(self, path: Path, line: int, text: str) -> None:
        try:
            self.run(text)
        except Failed as error:
            raise Failed(f"{printable(str(path))}, line {line}: {error}") from None

    def _tables(self, rest: str) -> None:
        self._no_argument(".tables", rest)
        for name in interruptible(partial(self._session.catalog.tables, fresh=True)):
            self._line(printable(name))

    def _schema(self, rest: str) -> None:
        client = self._session.target.client
        for number, name in enumerate(self._named(rest)):
            table = interruptible(partial(self._session.catalog.describe, name))
            ttl = None
            with suppress(*ERRORS):
                ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            self._line(f"{chr(10) if number else ''}{schema.schema(table, ttl)}")

    def _indexes(self, rest: str) -> None:
        for name in self._named(rest):
            table = interruptible(partial(self._session.catalog.describe, name))
            self._line(schema.indexes(table))

    def _create(self, rest: str) -> None:
        name, _, key = rest.partition(" ")
        if not key:
            _missing(
                ".create TABLE KEY, where KEY is NAME[:TYPE][,NAME[:TYPE]], e.g. id or id,at:N"
            )
        session = self._session
        try:
            wanted = tables.of_key(key)
        except DataError as error:
            raise Failed(printable(str(error))) from None
        session.allow(f".create {rest}")
        client = session.target.client
        name = _unquoted(name)
        interruptible(partial(client.create_table, **wanted.table | {"TableName": name}))
        interruptible(
            partial(client.get_waiter("table_exists").wait, TableName=name, WaiterConfig=_WAITING)
        )
        session.catalog.forget()
        self._line(f"table {printable(name)} created")

    def _drop(self, rest: str) -> None:
        name = _unquoted(rest or _missing(".drop TABLE"))
        self._session.allow(f".drop {rest}")
        interruptible(partial(self._session.target.client.delete_table, TableName=name))
        self._session.catalog.forget()
        self._line(f"table {printable(name)} deleted")

    def _named(self, rest: str) -> Sequence[str]:
        if rest:
            return [_unquoted(rest)]
        return interruptible(partial(self._session.catalog.tables, fresh=True))

    def _mode(self, rest: str) -> None:
        modes: tuple[Mode, ...] = get_args(Mode)
        wanted = next((mode for mode in modes if mode == rest.lower()), None)
        if rest and wanted is None:
            raise Failed(f"{printable(rest)}: the modes are {', '.join(modes)}")
        self._session.mode = wanted or self._session.mode
        if not rest:
            self._line(self._session.mode)

    def _limit(self, rest: str) -> None:
        if not rest:
            self._line("off" if self._session.limit is None else str(self._session.limit))
        elif rest.lower() == "off":
            self._session.limit = None
        elif rest.isascii() and rest.isdecimal() and int(rest[:10]) > 0:
            self._session.limit = int(rest[:10])
        else:
            raise Failed(f"{printable(rest)}: the limit must be a number above 0, or off")

    def _capacity(self, rest: str) -> None:
        self._session.capacity = self._switch(rest, ".capacity", self._session.capacity)

    def _explain(self, rest: str) -> None:
        statement = rest or _missing(".explain STATEMENT")
        session = self._session
        try:
            self._line(interruptible(partial(explain, statement, session.target, session.catalog)))
        except ERRORS as error:
            raise failure(error, statement) from None

    def _output(self, rest: str) -> None:
        self.close()
        if not rest:
            return
        path = Path(_unquoted(rest)).expanduser()
        try:
            file = path.open("w", encoding="utf-8", errors="backslashreplace", newline="")
        except OSError as error:
            raise Failed(f"{printable(str(path))}: {error.strerror}") from None
        self._session.output = Output(file, printable(str(path)))

    def _keep(self, rest: str) -> None:
        history = self._history
        if history is None:
            raise Failed("there is no history without a terminal")
        if rest.lower() == "clear":
            history.clear()
            return
        history.on = self._switch(rest, ".history", history.on)
        if not rest:
            self._line(f"in {printable(str(history.path))}")

    def _help(self, rest: str) -> None:
        for command in self.by_name.values():
            self._line(f"{command.usage:<23}{command.help}")
        self._line(
            "\nAnything else is a PartiQL statement. It ends with `;` (at the prompt also with an "
            "empty line):\n"
            "  SELECT * FROM orders WHERE customer = 'ann' AND begins_with(sk, '2026-');\n"
            "  INSERT INTO orders VALUE {'customer': 'ann', 'sk': '2026-11-21', 'total': 12.5};\n"
            "  UPDATE orders SET total = 13 WHERE customer = 'ann' AND sk = '2026-11-21';\n"
            "  DELETE FROM orders WHERE customer = 'ann' AND sk = '2026-11-21';"
        )

    def _quit(self, rest: str) -> None:
        self._no_argument(".quit", rest)
        raise Quit

    def _switch(self, rest: str, name: str, now: bool) -> bool:
        if rest.lower() not in ("", "on", "off"):
            raise Failed(f"usage: {self.by_name[name].usage}")
        if not rest:
            self._line("on" if now else "off")
        return rest.lower() == "on" if rest else now

    def _no_argument(self, name: str, rest: str) -> None:
        if rest:
            raise Failed(f"{name} takes no argument")

    def _line(self, text: str) -> None:
        self._session.output.line(text)
        self._session.output.file.flush()


def _missing(usage: str) -> str:
    raise Failed(f"usage: {usage}")


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
