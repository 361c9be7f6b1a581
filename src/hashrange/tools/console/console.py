"""The state that all pages share: the open database, its tables, and whether writes are allowed."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from hashrange.tools.console.entities import Colours
from hashrange.tools.console.shapes import TableShape
from hashrange.tools.console.stream_tails import StreamTails
from hashrange.tools.target import Target

if TYPE_CHECKING:
    from hashrange.design import Table

T = TypeVar("T")
R = TypeVar("R")

Inspect = Callable[[str], list[dict[str, Any]]]

READS = frozenset(
    {
        "batch_get_item",
        "describe_continuous_backups",
        "describe_endpoints",
        "describe_limits",
        "describe_table",
        "describe_time_to_live",
        "get_item",
        "list_tables",
        "list_tags_of_resource",
        "query",
        "scan",
        "search_vectors",
    }
)
"""The names of methods of boto3's client that do not change anything."""

TOGETHER = 8
"""The largest number of requests that a page sends at the same time."""


class ReadOnly(PermissionError):
    """A request would change the database, but the console was started without --write."""


class Console:
    """The open database of a console. Pages call it from many threads.

    If `tour` is true, this is the database of the guided tour, and the tour's pages are shown.
    `inspect` returns the partitions of a table like `Database.inspect`, which is the default if the
    database is open in this process. `models` are declared tables, whose entities and patterns are
    shown.
    """

    def __init__(
        self,
        target: Target,
        *,
        write: bool = False,
        tour: bool = False,
        inspect: Inspect | None = None,
        models: "Sequence[Table]" = (),
    ) -> None:
        self.target = target
        self.write = write
        self.tour = tour
        self.models = models
        self.inspect = inspect or (target.database.inspect if target.database else None)
        self.stream_tails = StreamTails(target.streams)
        self._colours: dict[str, Colours] = {}
        self._lock = threading.Lock()

    def call(self, method: str, **request: Any) -> dict[str, Any]:
        """Call a method of boto3's DynamoDB client, e.g. `call("query", TableName=...)`.

        Pages send all requests through this method or through `writer`. Raises botocore's errors,
        and `ReadOnly` if the console is read-only and the method may change the database.
        """
        if not self.write and not _only_reads(method, request):
            raise ReadOnly
        answer: dict[str, Any] = getattr(self.target.client, method)(**request)
        return answer

    @property
    def writer(self) -> Any:
        """boto3's client, for tools that send writes themselves. Raises `ReadOnly`."""
        if not self.write:
            raise ReadOnly
        return self.target.client

    def table(self, name: str) -> TableShape:
        """The table as the database describes it now. Raises botocore's
        ResourceNotFoundException."""
        return TableShape.of(self.call("describe_table", TableName=name)["Table"])

    def colours(self, table: str) -> Colours:
        """The colours of a table's entity types, which stay the same while the console runs."""
        with self._lock:
            return self._colours.setdefault(table, Colours())

    def entities(self, table: str) -> list[str]:
        """The entities that a model declares for a table."""
        models = [model for model in self.models if model.name == table]
        return [entity.name for model in models for entity in model.model.entities]

    def each(self, function: Callable[[T], R], values: Iterable[T]) -> list[R]:
        """The result of `function` for each value. `function` sends requests, so several calls run
        at the same time."""
        with ThreadPoolExecutor(TOGETHER) as pool:
            return list(pool.map(function, values))


def _only_reads(method: str, request: dict[str, Any]) -> bool:
    if method == "execute_statement":
        return selects(request["Statement"])
    return method in READS


def selects(statement: str) -> bool:
    """Whether a PartiQL statement begins with SELECT, so that it can only read."""
    words = statement.split(None, 1)
    return bool(words) and words[0].upper() == "SELECT"
