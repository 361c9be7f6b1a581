"""A session: runs statements against a database and shows their results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from botocore.exceptions import ClientError

from hashrange.tools.shell import advice, parsed
from hashrange.tools.shell.catalog import Catalog
from hashrange.tools.shell.execution import Consumed, Item, ResultPage, interruptible, pages
from hashrange.tools.shell.faults import ERRORS, Failed, failure
from hashrange.tools.shell.output import Mode, Output, Writer, writer
from hashrange.tools.shell.splitting import blanked, is_select
from hashrange.tools.shell.values import printable, shortened
from hashrange.tools.target import Target

_SHOWN_CHARACTERS = 200


class Screen(Protocol):
    """A terminal that shows a result one screen at a time."""

    def rows(self) -> int:
        """The number of items that fit on the screen."""
        ...

    def more(self) -> bool:
        """Ask whether to continue."""
        ...


class Session:
    """Runs statements on one database. `say` is called with remarks that are not part of a result.

    `confirm` asks the user before a write to AWS. If it is None, such writes are refused, unless
    `yes` is true.
    """

    def __init__(
        self,
        target: Target,
        output: Output,
        say: Callable[[str], None],
        *,
        confirm: Callable[[str], bool] | None = None,
        yes: bool = False,
    ) -> None:
        self.target = target
        self.catalog = Catalog(target)
        self.output = output
        self.say = say
        self.mode: Mode = output.default_mode
        self.capacity = False
        self.limit: int | None = None
        self.screen: Callable[[], Screen] | None = None
        self._confirm = confirm
        self._yes = yes

    def check(self) -> None:
        """Check that the database answers. Raises `Failed`. A refused request also counts as an
        answer, because an access key may allow only some operations."""
        try:
            interruptible(partial(self.target.client.list_tables, Limit=1))
        except ClientError:
            pass
        except ERRORS as error:
            raise failure(error) from None

    def run(self, statement: str, parameters: Sequence[Mapping[str, Any]] = ()) -> None:
        """Run a statement and write its result. Raises `Failed`."""
        select = is_select(statement)
        if not select:
            self.allow(statement)
        table, index = parsed.source_of(statement)
        ordered = select and table and self.mode != "json"
        key = self.catalog.key(table, index) if ordered else []
        out = writer(self.mode, self.output, parsed.columns_of(statement), key)
        screen = self.screen() if self.screen and out.pages and self.output.terminal else None
        firsts = [self.limit] if self.limit else []
        firsts += [screen.rows()] if screen else []
        first = min(firsts, default=None) if select else None
        result_pages = pages(
            self.target.client, statement, parameters, first=first, capacity=self.capacity
        )
        consumed = Consumed()
        try:
            told = self._pages(result_pages, statement, table)
            count, more = self._show(table, told, out, screen, consumed)
            if select or count or self.mode != "table":
                out.end(more)
            else:
                self.output.line(_written(statement))
            self.output.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Failed(f"{self.output.name or 'output'}: {error.strerror or error}") from None
        if self.capacity:
            self.say(str(consumed))
        if select and not count and (hint := advice.of_nothing(blanked(statement))):
            self.say(hint)

    def allow(self, statement: str) -> None:
        """Ask the user before a statement that may write to AWS. Raises `Failed` if the statement
        may not run."""
        if self._yes or not self.target.is_aws:
            return
        if self._confirm is None:
            raise Failed(f"this statement may write to {self.target.name}; allow it with --yes")
        shown = shortened(printable(" ".join(statement.split())), _SHOWN_CHARACTERS)
        if not self._confirm(f"{shown}\nThis may write to {self.target.name}. Run it? [y/N] "):
            raise Failed("not run")

    def _pages(
        self, result_pages: Iterator[ResultPage], statement: str, table: str
    ) -> Iterator[ResultPage]:
        """Yields the same pages, but raises errors of boto3 and of the store as `Failed`."""
        try:
            yield from result_pages
        except ERRORS as error:
            key = self.catalog.key(table) if table and _is_refusal(error) else []
            raise failure(error, statement, key) from None

    def _show(
        self,
        table: str,
        result_pages: Iterator[ResultPage],
        out: Writer,
        screen: Screen | None,
        consumed: Consumed,
    ) -> tuple[int, bool]:
        """Write the items, until the limit is reached or the user wants no more.

        Returns the number of written items, and whether there are more.
        """
        count, waiting = 0, False
        for page in result_pages:
            consumed.add(page.consumed)
            items = page.items if self.limit is None else page.items[: self.limit - count]
            self.catalog.saw(table, items)
            for piece in _pieces(items, screen):
                if screen and waiting and not screen.more():
                    return count, True
                out.page(piece)
                count, waiting = count + len(piece), True
            if count == self.limit:
                return count, page.more or len(page.items) > len(items)
            if screen and waiting and page.more:
                self.output.file.flush()
                if not screen.more():
                    return count, True
                waiting = False
        return count, False


_WRITES = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}


def _written(statement: str) -> str:
    """The effect of a successful statement that returns nothing: it has written one item."""
    verb = blanked(statement).split(maxsplit=1)[0].upper()
    return f"1 item {_WRITES.get(verb, 'written')}"


def _is_refusal(error: Exception) -> bool:
    """Whether the error is an answer of the server. Then further requests can succeed."""
    return isinstance(error, ClientError)


def _pieces(items: Sequence[Item], screen: Screen | None) -> Iterator[Sequence[Item]]:
    size = screen.rows() if screen else max(1, len(items))
    return (items[at : at + size] for at in range(0, len(items), size))
