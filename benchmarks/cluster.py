"""`python -m benchmarks.cluster`: what a request costs a Citus cluster, against plain PostgreSQL.

Starts a plain PostgreSQL, a cluster of one node and one of four, all of the same programs, and
drives them in turns. The figure is the processor time of all of a database's processes. Clients are
tasks of one event loop, as the connections of a server are.

The processes of four nodes evict each other's data from the caches of this machine's processors.
So there is also a place where only one of the four nodes works: it has its share of the clients,
which use only items of this node, as if each node had a machine of its own.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from itertools import count
from typing import NamedTuple

import hashrange
from benchmarks.processor import seconds_of
from benchmarks.spread import Spread
from hashrange.database.database import Database
from hashrange.engine import keys
from hashrange.testing.postgres_cluster import Cluster, find_programs_with_citus
from hashrange.testing.postgres_server import NoPostgres, PostgresServer

ITEMS = 500
ROUNDS = 5
WARM = 4
"""How many rounds precede the measured ones, so that every connection has planned its
statements."""
IDLE_SECONDS = 10
NODES = 4
REQUESTS = {1: 250, 64 // NODES: 1500, 64: 3000}
"""How many requests are made in each round, by the number of clients."""
BARS = {("PutItem", 64): 3, ("GetItem", 64): 4, ("PutItem", 1): 9, ("GetItem", 1): 7}
"""The cost of a request may be at most this many times its cost on plain PostgreSQL, by the
operation and the number of clients."""
NODES_BAR = 1.3
"""The cost of a request on four nodes may be at most this many times its cost on one node."""
SETTINGS = {"citus.recover_2pc_interval": "5s"}
"""The settings that the documentation recommends. The clusters of tests recover sooner, which costs
more."""

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
    items: Sequence[int] = range(ITEMS)
    """The numbers of the items that are read and written."""

    def seconds(self) -> float:
        return sum(seconds_of(server.pid) for server in self.servers)

    async def run(self, operation: str, clients: int) -> float:
        """Make the requests of one round. Returns the database's processor time per request, in
        microseconds."""
        numbers = count()
        call = CALLS[operation]
        requests = REQUESTS[clients]

        async def client() -> None:
            while (number := next(numbers)) < requests:
                await call(self.database, self.items[number % len(self.items)])

        before = self.seconds()
        await asyncio.gather(*(client() for _ in range(clients)))
        return 1e6 * (self.seconds() - before) / requests


def key(number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"item {number}"}}


async def put(database: Database, number: int) -> None:
    item = key(number) | {"value": {"S": "x" * 80}}
    await database.execute_async("PutItem", {"TableName": "bench", "Item": item})


async def get(database: Database, number: int) -> None:
    await database.execute_async("GetItem", {"TableName": "bench", "Key": key(number)})


CALLS: dict[str, Callable[[Database, int], Awaitable[None]]] = {"PutItem": put, "GetItem": get}


async def opened(
    stack: AsyncExitStack, name: str, dsn: str, servers: list[PostgresServer]
) -> Place:
    database = await stack.enter_async_context(await hashrange.connect_async(dsn))
    place = Place(name, database, servers)
    await database.execute_async("CreateTable", TABLE)
    idle = place.seconds()
    await asyncio.sleep(IDLE_SECONDS)
    print(f"{name}, idle: {1000 * (place.seconds() - idle) / IDLE_SECONDS:.1f} ms a second")
    return place


async def one_node_of(place: Place) -> Place:
    """The same database, but only with items of one of its nodes."""
    await get(place.database, 0)  # afterwards the table is known
    environment = place.database.runtime.environment
    table, store = environment.catalog.known[1]["bench"], environment.awaited
    assert store is not None
    numbers = [
        number
        for number in range(NODES * ITEMS)
        if store.machine_of(keys.of_key(table, key(number)).key) == 0
    ]
    return place._replace(name=f"one of {NODES} nodes", items=numbers)


async def places(stack: AsyncExitStack) -> list[Place]:
    plain = PostgresServer(programs=find_programs_with_citus())
    stack.callback(plain.stop)
    found = [await opened(stack, "plain PostgreSQL", plain.new_database(), [plain])]
    for nodes in 1, NODES:
        cluster = Cluster(nodes, settings=SETTINGS)
        stack.callback(cluster.stop)
        dsn = await asyncio.to_thread(cluster.new_distributed_database)
        found.append(await opened(stack, f"nodes: {nodes}", dsn, cluster.nodes))
    return found


async def compare() -> None:
    async with AsyncExitStack() as stack:
        plain, one, four = all_places = await places(stack)
        share = await one_node_of(four)
        print(f"{'':<22}" + "".join(f"{place.name:>20}" for place in all_places) + "   times (bar)")
        for (operation, clients), bar in BARS.items():
            rounds = [
                {place.name: await place.run(operation, clients) for place in all_places}
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
            if clients > NODES:
                await compare_shares(plain, one, share, operation, clients, bar)


async def compare_shares(
    plain: Place, one: Place, share: Place, operation: str, clients: int, bar: float
) -> None:
    """Compare one of four nodes that has its share of the clients, while the other nodes are idle,
    with databases that have all clients."""
    rounds = [
        (
            await share.run(operation, clients // NODES),
            await plain.run(operation, clients),
            await one.run(operation, clients),
        )
        for _ in range(WARM + ROUNDS)
    ][WARM:]
    cost = Spread.of(each for each, _, _ in rounds)
    times = Spread.of(each / other for each, other, _ in rounds)
    nodes = Spread.of(each / other for each, _, other in rounds)
    print(
        f"  {share.name}, with {clients // NODES} clients {cost.median:.0f} us: {times.median:.1f} "
        f"times ({bar}, {times.at_most(bar)}), against one node {nodes.median:.2f} "
        f"({NODES_BAR}, {nodes.at_most(NODES_BAR)})",
        flush=True,
    )


def main() -> None:
    try:
        asyncio.run(compare())
    except NoPostgres as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
