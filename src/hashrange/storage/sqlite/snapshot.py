"""A read transaction on a connection of the store."""

from collections.abc import Callable

import apsw

from hashrange.kv import Answer, Read
from hashrange.storage.sqlite.problems import explain
from hashrange.storage.sqlite.reads import answer

_ANYTHING = "SELECT 1 FROM statistics LIMIT 1"
"""Any read: SQLite takes the snapshot of a transaction at its first read."""


class SqliteSnapshot:
    """A snapshot of the file. When it is closed, it calls `give_back(connection, sound)`."""

    __slots__ = ("_connection", "_cursor", "_give_back", "_path")

    def __init__(
        self,
        path: str,
        connection: apsw.Connection,
        give_back: Callable[[apsw.Connection, bool], None],
    ) -> None:
        self._path = path
        self._connection = connection
        self._give_back = give_back
        self._cursor = connection.cursor()
        self._cursor.execute("BEGIN")
        self._cursor.execute(_ANYTHING)

    def read(self, read: Read, /) -> Answer:
        try:
            return answer(self._cursor, read)
        except apsw.Error as error:
            raise explain(error, self._path) from error

    def close(self) -> None:
        try:
            self._cursor.execute("COMMIT")
        except apsw.Error:  # the cause, usually damage, has been reported
            self._give_back(self._connection, False)
        else:
            self._give_back(self._connection, True)
