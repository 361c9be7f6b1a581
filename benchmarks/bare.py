"""The ceiling: a server that parses HTTP and JSON, uses SQLite, and does as little else as it can.

It reads one row for a GetItem and writes one row for a PutItem. It checks nothing, and has no
tables, types or errors. Writes that arrive in one turn of the loop share a commit. CreateTable
and BatchWriteItem are there as far as the bench needs them to fill the server.
"""

import argparse
import asyncio
from collections.abc import Callable
from typing import Any

import apsw
import httptools
import msgspec
import uvloop

SYNCHRONOUS = {"relaxed": "NORMAL", "full": "FULL"}
HEAD = b"HTTP/1.1 %d\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"


def answer(body: bytes, status: int = 200) -> bytes:
    return HEAD % (status, len(body)) + body


class Rows:
    """One table of rows, and the answers that wait for this turn's commit."""

    def __init__(self, path: str, durability: str) -> None:
        self.database = apsw.Connection(path)
        self.database.pragma("journal_mode", "wal")
        self.database.pragma("synchronous", SYNCHRONOUS[durability])
        self.database.execute("CREATE TABLE IF NOT EXISTS rows (key TEXT UNIQUE, value BLOB)")
        self.waiting: list[Callable[[], None]] = []

    def get(self, key: str) -> bytes | None:
        sql = "SELECT value FROM rows WHERE key = ?"
        return next((row[0] for row in self.database.execute(sql, (key,))), None)

    def put(self, key: str, value: bytes) -> None:
        if not self.database.in_transaction:
            self.database.execute("BEGIN IMMEDIATE")
            asyncio.get_running_loop().call_soon(self.commit)
        self.database.execute("REPLACE INTO rows VALUES (?, ?)", (key, value))

    def commit(self) -> None:
        self.database.execute("COMMIT")
        waiting, self.waiting = self.waiting, []
        for send in waiting:
            send()


class Protocol(asyncio.Protocol):
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.parser = httptools.HttpRequestParser(self)
        self.operation = b""
        self.body = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name == b"X-Amz-Target":
            self.operation = value.rpartition(b".")[2]

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        request = msgspec.json.decode(self.body)
        self.body = b""
        if self.operation == b"GetItem":
            row = self.rows.get(address(request["TableName"], request["Key"]))
            self.transport.write(answer(b'{"Item":%b}' % row if row else b"{}"))
        elif self.operation == b"PutItem":
            self.put(request["TableName"], request["Item"])
            self.rows.waiting.append(lambda: self.transport.write(answer(b"{}")))
        elif self.operation == b"BatchWriteItem":
            for table, puts in request["RequestItems"].items():
                for put in puts:
                    self.put(table, put["PutRequest"]["Item"])
            self.rows.waiting.append(lambda: self.transport.write(answer(b"{}")))
        else:
            known = self.operation in (b"CreateTable", b"ListTables")
            self.transport.write(answer(b"{}", 200 if known else 400))

    def put(self, table: str, item: dict[str, Any]) -> None:
        self.rows.put(address(table, item), msgspec.json.encode(item))


def address(table: str, key: dict[str, Any]) -> str:
    return f"{table}|{key['pk']['S']}|{key['sk']['S']}"


async def serve(port: int, path: str, durability: str) -> None:
    rows = Rows(path, durability)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Protocol(rows), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("path")
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--durability", choices=SYNCHRONOUS, required=True)
    parsed = arguments.parse_args()
    uvloop.run(serve(parsed.port, parsed.path, parsed.durability))
