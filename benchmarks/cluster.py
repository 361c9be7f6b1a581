"""`python -m benchmarks.cluster`: what a request costs a Citus cluster, against plain PostgreSQL.

Starts a plain PostgreSQL, a cluster of one node and one of four, all of the same programs, and
drives them in turns. The figure is the processor time of all of a database's processes.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from typing import NamedTuple

import hashrange
from benchmarks.processor import seconds_of
from benchmarks.spread import Spread
from hashrange.database.database import Database
from hashrange.testing.postgres_cluster import Cluster, find_programs_with_citus
from hashrange.testing.postgres_server import NoPostgres, PostgresServer

ITEMS = 500
ROUNDS = 5
WARM = 4
"""How many rounds go before, so that every connection has planned its statements."""
REQUESTS = {1: 250, 64: 3000}
"""In each round, by the number of clients."""
BARS = {("PutItem", 64): 3, ("GetItem", 64): 4, ("PutItem", 1): 9, ("GetItem", 1): 7}
"""How many times the cost of plain PostgreSQL a cluster may cost."""
NODES_BAR = 1.3
"""How many times the cost of one node four may cost."""

TABLE = {
    "TableName": "bench",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}


class Place(NamedTuple):
    name: str
    database: Database
    servers: list[PostgresServer]

    def seconds(self) -> float:
        return sum(seconds_of(server.pid) for server in self.servers)

    def run(self, operation: str, clients: int) -> float:
        """Microseconds of processor time per request."""
        numbers = count()
        call = CALLS[operation]
        requests = REQUESTS[clients]
        with ThreadPoolExecutor(clients) as threads:
            before = self.seconds()
            for _ in threads.map(lambda _: call(self.database, next(numbers)), range(requests)):
                pass
            return 1e6 * (self.seconds() - before) / requests


def key(number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"item {number % ITEMS}"}}


def put(database: Database, number: int) -> None:
    item = key(number) | {"value": {"S": "x" * 80}}
    database.execute("PutItem", {"TableName": "bench", "Item": item})


def get(database: Database, number: int) -> None:
    database.execute("GetItem", {"TableName": "bench", "Key": key(number)})


CALLS: dict[str, Callable[[Database, int], None]] = {"PutItem": put, "GetItem": get}


def places(stack: ExitStack) -> list[Place]:
    plain = PostgresServer(programs=find_programs_with_citus())
    stack.callback(plain.stop)
    places = [Place("plain PostgreSQL", hashrange.connect(plain.new_database()), [plain])]
    for nodes in 1, 4:
        cluster = Cluster(nodes)
        stack.callback(cluster.stop)
        database = hashrange.connect(cluster.new_distributed_database())
        places.append(Place(f"nodes: {nodes}", database, cluster.nodes))
    for place in places:
        stack.callback(place.database.close)
        place.database.execute("CreateTable", TABLE)
        idle = place.seconds()
        time.sleep(10)
        print(f"{place.name}, idle: {100 * (place.seconds() - idle):.1f} ms a second")
    return places


def main() -> None:
    with ExitStack() as stack:
        try:
            plain, one, four = all_places = places(stack)
        except NoPostgres as error:
            sys.exit(str(error))
        print(f"{'':<22}" + "".join(f"{place.name:>20}" for place in all_places) + "   times (bar)")
        for (operation, clients), bar in BARS.items():
            rounds = [
                {place.name: place.run(operation, clients) for place in all_places}
                for _ in range(WARM + ROUNDS)
            ][WARM:]
            costs = [Spread.of(each[place.name] for each in rounds) for place in all_places]
            times = Spread.of(each[four.name] / each[plain.name] for each in rounds)
            nodes = Spread.of(each[four.name] / each[one.name] for each in rounds)
            print(
                f"{operation}, {clients:<2} clients   "
                + "".join(f"{cost.median:>17.0f} us" for cost in costs)
                + f"   {times.median:.1f} ({bar}, {times.at_most(bar)}), four nodes against one "
                f"{nodes.median:.2f} ({NODES_BAR}, {nodes.at_most(NODES_BAR)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
