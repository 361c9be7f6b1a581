"""Clients of several servers on one database, and what they must have seen.

What they saw must be linearizable for each key; money is neither made nor lost; a transaction that
is repeated with its token is done once; every acknowledged value is in the list once, in an order
that all reads agree with; the stream replays to the table; and indexes and counters equal their
recomputation.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from threading import Event, Thread
from time import monotonic
from typing import Any

from hashrange import Database

from .histories import INITIAL, Appended, History
from .runs import Violation
from .serving import Connection, NoAnswerError, Server
from .streams import StreamReader
from .tables import DEFINITION, TABLE, key, scanned

REGISTERS = 3
ACCOUNTS = 5
OPENING = 100
PLAIN = 120
"""Items beside these, which come and go; so that there is something to build an index of."""
COLORS = ("red", "green")
BUILT = "by-color-and-pk"

UNCLEAR = frozenset({"InternalServerError", "ThrottlingException"})
"""Errors that tell a client to ask again; after the first, the request may have been executed."""


class Saw:
    """What all clients saw. Errors in `unclear` are taken for no answer."""

    def __init__(self, unclear: frozenset[str] = frozenset()) -> None:
        self.history = History()
        self.list = Appended()
        self.acknowledged = 0
        self.transfers: Counter[str] = Counter()
        """How many transfers of each client were done."""
        self.unfinished: Counter[str] = Counter()
        """And of how many that is not known."""
        self.built = 0
        self.problems: list[Exception] = []
        self.unclear = unclear
        self.errors: Counter[str] = Counter()


class Client(Thread):
    """Asks one server until it is gone, then another."""

    def __init__(self, name: str, servers: Sequence[Server], saw: Saw, random: Random) -> None:
        super().__init__(name=name)
        self.servers = servers
        self.saw = saw
        self.random = random
        self.stop = Event()
        self._connection: Connection | None = None
        self._number = 0

    def act(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                with suppress(NoAnswerError):
                    self.act()
                    self.saw.acknowledged += 1
        except Exception as error:
            self.saw.problems.append(error)
        if self._connection:
            self._connection.close()

    def ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Raises NoAnswerError, or Violation for an error."""
        answer = self.ask_unless("", operation, request)
        assert answer is not None
        return answer

    def ask_unless(
        self, refused: str, operation: str, request: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Returns the answer, or None if it is the error `refused`."""
        if self._connection is None:
            self._connection = Connection(self.random.choice(self.servers).port)
        try:
            status, body = self._connection.ask(operation, request)
        except NoAnswerError:
            self._connection.close()
            self._connection = None
            time.sleep(0.01)
            raise
        if status == 200:
            return body
        error = body.get("__type", "").rpartition("#")[2]
        if error in self.saw.unclear:
            self.saw.errors[error] += 1
            raise NoAnswerError
        if error != refused:
            raise Violation(f"{operation} is answered with {body}")
        return None

    def unique(self) -> str:
        self._number += 1
        return f"{self.name}-{self._number}"

    def write(self, register: str) -> None:
        value, start = self.unique(), monotonic()
        item = key(register)["Key"] | {
            "v": {"S": value},
            "color": {"S": self.random.choice(COLORS)},
        }
        answered = False
        try:
            self.ask("PutItem", {"TableName": TABLE, "Item": item})
            answered = True
        finally:
            self.saw.history.add(register, True, value, start, answered)

    def read(self, register: str) -> None:
        start = monotonic()
        answer = self.ask("GetItem", key(register) | {"ConsistentRead": True})
        value = answer["Item"]["v"]["S"] if "Item" in answer else INITIAL
        self.saw.history.add(register, False, self.seen(value), start, True)

    def seen(self, value: str) -> str:
        return value


class Mixed(Client):
    """Single writes and transactions. One that `lies` makes up an answer."""

    lies = False

    def act(self) -> None:
        acts = [self.some_write, self.some_write, self.some_read, self.transfer, self.audit]
        self.random.choice([*acts, self.append, self.look, self.come, self.go])()

    def seen(self, value: str) -> str:
        return INITIAL if self.lies else value

    def some_write(self) -> None:
        self.write(f"register {self.random.randrange(REGISTERS)}")

    def some_read(self) -> None:
        self.read(f"register {self.random.randrange(REGISTERS)}")

    def come(self) -> None:
        self.ask("PutItem", put_plain(self.random.randrange(PLAIN), self.random))

    def go(self) -> None:
        self.ask("DeleteItem", plain(self.random.randrange(PLAIN)))

    def transfer(self) -> None:
        """Repeated with its token until there is an answer."""
        one, other = self.random.sample(range(ACCOUNTS), 2)
        values = {"ExpressionAttributeValues": {":n": {"N": str(self.random.randint(1, 40))}}}
        take = account(one) | values
        take["UpdateExpression"] = "SET balance = balance - :n"
        take["ConditionExpression"] = "balance >= :n"
        give = account(other) | values | {"UpdateExpression": "ADD balance :n"}
        note = key("transfers", self.name) | {"UpdateExpression": "ADD n :one"}
        note["ExpressionAttributeValues"] = {":one": {"N": "1"}}
        actions = [{"Update": action} for action in (take, give, note)]
        request = {"TransactItems": actions, "ClientRequestToken": self.unique()}
        while True:
            try:
                done = self.ask_unless(
                    "TransactionCanceledException", "TransactWriteItems", request
                )
            except NoAnswerError:
                if self.stop.is_set():
                    self.saw.unfinished[self.name] += 1
                    raise
                continue
            self.saw.transfers[self.name] += done is not None
            return

    def audit(self) -> None:
        gets = [{"Get": account(number)} for number in range(ACCOUNTS)]
        answer = self.ask("TransactGetItems", {"TransactItems": gets})
        balances = [int(found["Item"]["balance"]["N"]) for found in answer["Responses"]]
        if sum(balances) != OPENING * ACCOUNTS:
            raise Violation(f"the balances are {balances}")

    def append(self) -> None:
        value = self.unique()
        request = key("list") | {
            "UpdateExpression": "SET l = list_append(l, :l)",
            "ExpressionAttributeValues": {":l": {"L": [{"S": value}]}},
        }
        self.ask("UpdateItem", request)
        self.saw.list.acknowledged.append(value)

    def look(self) -> None:
        item = self.ask("GetItem", key("list") | {"ConsistentRead": True})["Item"]
        self.saw.list.reads.append(values_of(item))


class Lying(Mixed):
    lies = True


class Indexing(Client):
    """Adds an index, waits until it is built, and removes it, again and again."""

    def act(self) -> None:
        described = self.ask("DescribeTable", {"TableName": TABLE})["Table"]
        found = [
            index for index in described["GlobalSecondaryIndexes"] if index["IndexName"] == BUILT
        ]
        if not found:
            self.ask_unless("ResourceInUseException", "UpdateTable", add_index())
        elif found[0]["IndexStatus"] == "ACTIVE":
            self.saw.built += 1
            delete = {"Delete": {"IndexName": BUILT}}
            request = {"TableName": TABLE, "GlobalSecondaryIndexUpdates": [delete]}
            self.ask_unless("ResourceInUseException", "UpdateTable", request)
        time.sleep(0.02)


class Streaming(Client):
    """Reads the stream while it grows."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.reader = StreamReader()

    def act(self) -> None:
        self.reader.turn(self.ask)
        time.sleep(0.02)


def account(number: int) -> dict[str, Any]:
    return key("account", str(number))


def plain(number: int) -> dict[str, Any]:
    return key(f"plain {number % 20}", str(number))


def put_plain(number: int, random: Random) -> dict[str, Any]:
    item = plain(number)["Key"] | {"color": {"S": random.choice(COLORS)}}
    return {"TableName": TABLE, "Item": item}


def add_index() -> dict[str, Any]:
    schema = [
        {"AttributeName": "color", "KeyType": "HASH"},
        {"AttributeName": "pk", "KeyType": "RANGE"},
    ]
    created = {"IndexName": BUILT, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    definitions = [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "color", "size")
    ]
    return {
        "TableName": TABLE,
        "AttributeDefinitions": definitions,
        "GlobalSecondaryIndexUpdates": [{"Create": created}],
    }


def values_of(item: dict[str, Any]) -> list[str]:
    return [value["S"] for value in item["l"]["L"]]


def create(database: Database, random: Random) -> None:
    database.execute("CreateTable", DEFINITION)
    for number in range(ACCOUNTS):
        item = account(number)["Key"] | {"balance": {"N": str(OPENING)}, "color": {"S": "red"}}
        database.execute("PutItem", {"TableName": TABLE, "Item": item})
    for number in range(PLAIN):
        database.execute("PutItem", put_plain(number, random))
    empty = key("list")["Key"] | {"l": {"L": []}}
    database.execute("PutItem", {"TableName": TABLE, "Item": empty})


@contextmanager
def working(running: Sequence[Client]) -> Iterator[None]:
    for client in running:
        client.start()
    try:
        yield
    finally:
        for client in running:
            client.stop.set()
        for client in running:
            client.join()


def check(database: Database, saw: Saw, readers: Sequence[StreamReader] = ()) -> None:
    """Raises Violation, or the first error of a client. `readers` have begun to read the stream."""
    for problem in saw.problems:
        raise problem
    saw.history.check()
    saw.list.check(values_of(database.execute("GetItem", key("list"))["Item"]))
    items = scanned(database.execute)
    _check_indexes(database, items)
    if sum(int(item["balance"]["N"]) for item in items if "balance" in item) != OPENING * ACCOUNTS:
        raise Violation("money was made or lost")
    _check_transfers(items, saw)
    if problems := list(database.check()):
        raise Violation("; ".join(problems))
    for reader in (StreamReader(), *readers):
        while reader.turn(database.execute):
            pass
        if sorted(map(str, reader.items.values())) != sorted(map(str, items)):
            raise Violation("the stream does not replay to the table")


def _check_indexes(database: Database, items: list[dict[str, Any]]) -> None:
    colored = sorted(str(item) for item in items if "color" in item)
    table = database.execute("DescribeTable", {"TableName": TABLE})["Table"]
    for index in table["GlobalSecondaryIndexes"]:
        if index["IndexStatus"] != "ACTIVE":
            continue
        if sorted(map(str, scanned(database.execute, IndexName=index["IndexName"]))) != colored:
            raise Violation(f"the index {index['IndexName']} does not show the items")


def _check_transfers(items: list[dict[str, Any]], saw: Saw) -> None:
    noted = {item["sk"]["S"]: int(item["n"]["N"]) for item in items if "n" in item}
    for name in saw.transfers.keys() | noted.keys():
        done, may = saw.transfers[name], saw.unfinished[name]
        if not done <= noted.get(name, 0) <= done + may:
            raise Violation(f"{done} transfers of {name} became {noted.get(name, 0)}")
