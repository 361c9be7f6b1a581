"""What the clients of a server share: room for bodies, for work and for unsent answers."""

import json
import random
import socket
import time
from collections.abc import Iterator
from functools import partial
from typing import cast

import pytest
import uvloop
from serving import Client, EchoRuntime, Running, request, running
from waiting import SECONDS_MAX, wait_until

from hashrange import wire
from hashrange.model.errors import ThrottlingException
from hashrange.runtime.ending import Done
from hashrange.server import budget as budgets
from hashrange.server import connection
from hashrange.server.budget import KB, MB, VALUES_MAX, DecodedCalls, Share, Unsent, check_values
from hashrange.server.connection import ROOM_SECONDS_MAX, ClientConnection
from hashrange.server.listener import open_listener
from hashrange.server.patience import SLOW_SECONDS_MAX
from hashrange.server.turns import ARRIVALS_PER_TURN
from hashrange.wire import Key


class Waiter:
    def __init__(self) -> None:
        self.granted = 0

    def reserved(self) -> None:
        self.granted += 1


def test_room_is_given_in_the_order_in_which_it_was_asked_for() -> None:
    share = Share(100)
    first, large, small = Waiter(), Waiter(), Waiter()
    assert share.take(60, first)
    assert not share.take(80, large)
    assert not share.take(10, small)  # it would fit, but the large one was first
    share.give(60)
    assert (large.granted, small.granted, share.free) == (1, 1, 10)


def test_a_client_that_leaves_does_not_keep_others_waiting() -> None:
    share = Share(100)
    assert share.take(90, Waiter())
    gone, small = Waiter(), Waiter()
    assert not share.take(50, gone)
    assert not share.take(10, small)
    share.withdraw(gone)
    assert (gone.granted, small.granted) == (0, 1)


def test_decoded_calls_let_the_next_one_in() -> None:
    calls, entered = DecodedCalls(100), list[int]()
    calls.held = 120
    for size in (30, 80, 5):
        calls.waiting.append((size, partial(entered.append, size)))
    calls.leave(10)
    assert entered == []
    calls.leave(40)
    assert (entered, calls.held) == ([30], 100)
    calls.leave(100)
    assert (entered, calls.held) == ([30, 80, 5], 85)


class Reader:
    def __init__(self, unsent: int) -> None:
        self.unsent = unsent
        self.aborted = False

    def unsent_bytes(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.aborted = True


def test_the_client_that_reads_most_slowly_goes() -> None:
    now = [0.0]
    unsent, readers = Unsent(100, lambda: now[0]), [Reader(40), Reader(40), Reader(40)]
    fast, slow, new = readers
    unsent.add(fast)
    unsent.add(slow)
    now[0], fast.unsent = 10.0, 35
    unsent.add(new)
    assert [reader.aborted for reader in readers] == [False, True, False]


# ---- how many values a body has ----


def many(count: int) -> bytes:
    return b'{"L":[' + b",".join([b'{"S":""}'] * count) + b"]}"


@pytest.mark.parametrize(
    "body",
    [
        many(VALUES_MAX - 10),
        json.dumps({"S": "1," * MB}).encode(),
        json.dumps({"S": json.dumps([{}] * MB)}).encode(),
        json.dumps({"S": '\\",{' * MB}).encode(),
    ],
    ids=["values", "commas", "documents", "escapes"],
)
def test_text_does_not_count_as_values(body: bytes) -> None:
    check_values(body)


@pytest.mark.parametrize(
    "body",
    [
        many(VALUES_MAX + 10),
        b'{"SS":[' + b'"ab",' * (VALUES_MAX + 10),
        b"[],[]," * VALUES_MAX,
        b'{"a":' * (VALUES_MAX + 10),
        json.dumps({"S": '\\"' * 300_001 + "\\\\"}).encode() + b"," * (VALUES_MAX + 10),
    ],
    ids=["values", "members of a set", "lists", "objects", "after escapes"],
)
def test_too_many_values_are_refused(body: bytes) -> None:
    with pytest.raises(wire.RequestTooLargeException, match="204,800 values"):
        check_values(body)


def test_values_are_counted_the_same_wherever_the_pieces_end() -> None:
    chance = random.Random(1)
    for _ in range(200):
        text = "".join(chance.choices('\\",{}a', k=30))
        body = json.dumps([{"a": text}, {text: 1}, text]).encode()
        whole = budgets._values(body)
        assert whole == 3  # the list has two commas
        assert budgets._values(body, chance.randint(1, 9)) == whole


# ---- over sockets ----


@pytest.fixture
def server() -> Iterator[Running]:
    with running(uvloop.new_event_loop()) as server:
        yield server


def half_sent(server: Running, size: int) -> Client:
    """A client with an unfinished request whose body has this size."""
    client = server.connect()
    client.send(request("GetItem"))
    assert client.receive()[0] == 200
    client.send(request("GetItem", b" " * size)[: 20 * KB])
    return client


def connected(server: Running) -> list[ClientConnection]:
    """On the loop."""
    return cast(list[ClientConnection], [*server.server.clients.connected])


def waiting(server: Running) -> int:
    return server.call(lambda: sum(one._intake.waits for one in connected(server)))


def with_room(server: Running) -> int:
    """How many have room or wait for it."""
    return server.call(lambda: sum(one._intake.share is not None for one in connected(server)))


def fill(server: Running, size: int) -> tuple[list[Client], Client]:
    """Clients whose unfinished requests leave no room, and one more, which has to wait."""
    clients: list[Client] = []
    while not clients or not waiting(server):
        clients.append(half_sent(server, size))
        wait_until(lambda: with_room(server) == len(clients))
    return clients[:-1], clients[-1]


def test_bodies_wait_for_room_and_small_ones_do_not(server: Running) -> None:
    holders, late = fill(server, 15 * MB)
    assert len(holders) == 3  # 50 MB in all
    client = server.connect()
    for size in (10, 5 * KB, 100 * KB, 400 * KB):
        assert client.ask(request("GetItem", b" " * size))[0] == 200
    holders[0].close()
    wait_until(lambda: waiting(server) == 0)
    rest = request("GetItem", b" " * 15 * MB)[20 * KB :]
    late.socket.settimeout(SECONDS_MAX)
    late.send(rest)
    assert late.receive()[0] == 200
    for one in (*holders, late, client):
        one.close()
    wait_until(lambda: not server.connections())
    share = server.server.clients.budget.share(15 * MB, stranger=False)
    assert (share.free, len(share.waiting)) == (50 * MB, 0)


def test_a_client_that_waits_too_long_is_told_to_come_back(server: Running) -> None:
    holders, late = fill(server, 15 * MB)
    [serving] = [one for one in server.connections() if one._intake.waits]
    server.call(lambda: serving.sweep(ROOM_SECONDS_MAX))
    assert late.receive()[0] == 503
    for one in (*holders, late):
        one.close()


def test_a_slow_client_goes_sooner_if_others_wait_for_its_room(server: Running) -> None:
    holders, late = fill(server, 15 * MB)
    slow = [one for one in server.connections() if not one._intake.waits]
    for serving in slow:
        server.call(partial(serving.sweep, 1))
        server.call(partial(serving.sweep, 5))
    wait_until(lambda: waiting(server) == 0)
    for client in (*holders, late):
        client.close()


def test_strangers_have_a_share_of_their_own() -> None:
    """They cannot take the room of clients that have proved who they are."""
    keys = {"AKID": Key("secret")}
    with running(uvloop.new_event_loop(), open_listener("127.0.0.1", 0, keys)) as server:
        head = request("PutItem", b" " * (15 * MB))[: 20 * KB]
        strangers = [server.connect() for _ in range(10)]
        for stranger in strangers:
            stranger.send(head)
        wait_until(lambda: waiting(server) == 9)
        assert server.server.clients.budget.share(MB, stranger=False).free == 50 * MB
        for stranger in strangers:
            stranger.close()


def test_the_oldest_stranger_makes_way(server: Running) -> None:
    server.server.clients.connections_max = 3
    known = server.connect()
    assert known.ask(request("GetItem"))[0] == 200
    strangers = [server.connect() for _ in range(4)]
    for gone in strangers[:2]:
        with pytest.raises((EOFError, ConnectionResetError)):
            gone.receive()
    for client in (known, *strangers[2:]):
        assert client.ask(request("GetItem"))[0] == 200
        client.close()


def test_a_client_below_the_least_rate_is_disconnected(server: Running) -> None:
    client = half_sent(server, 100 * KB)
    wait_until(lambda: len(server.connections()) == 1)
    [serving] = server.connections()
    for _ in range(3):
        server.call(lambda: serving.sweep(5))
        client.send(b" " * 3_000)  # 600 bytes a second
        wait_until(lambda: serving._wire.held_bytes != serving._swept[2])
    server.call(lambda: serving.sweep(5))
    assert server.connections() == [serving]
    client.send(b" " * 3_000)
    wait_until(lambda: serving._wire.held_bytes != serving._swept[2])
    server.call(lambda: serving.sweep(SLOW_SECONDS_MAX - 15))
    with pytest.raises((EOFError, ConnectionResetError)):
        client.receive()


def test_a_client_that_moves_much_just_before_a_look_is_disconnected(server: Running) -> None:
    """What it has moved since it began counts, and not what it has moved since the last look."""
    client = half_sent(server, 100 * KB)
    wait_until(lambda: len(server.connections()) == 1)
    [serving] = server.connections()
    server.call(partial(serving.sweep, 5))  # it has been answered since
    for seconds in (5, 5, 5):
        server.call(partial(serving.sweep, seconds))
    assert server.connections() == [serving]
    before = serving._wire.held_bytes
    client.send(b" " * 6_000)  # more than 1 KB for each second since the last look
    wait_until(lambda: serving._wire.held_bytes == before + 6_000)
    server.call(partial(serving.sweep, SLOW_SECONDS_MAX - 15))
    assert server.call(serving._transport.is_closing)
    client.close()


def test_a_slow_reader_gets_nothing_more_after_its_end(server: Running) -> None:
    """The system holds megabytes of an answer, which would keep the client busy for minutes."""
    client = server.connect()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.send(*[request("Scan")] * 10)
    wait_until(lambda: server.connections() and server.connections()[0].unsent_bytes())
    [serving] = server.connections()
    for seconds in (5, SLOW_SECONDS_MAX, SLOW_SECONDS_MAX):
        server.call(partial(serving.sweep, seconds))
    with pytest.raises(ConnectionResetError):
        any(iter(lambda: not client.socket.recv(1024), True))


def test_clients_that_do_not_read_hold_no_more_than_their_share(server: Running) -> None:
    clients = [server.connect() for _ in range(80)]
    for client in clients:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.send(*[request("Scan")] * 10)

    def unsent() -> int:
        return server.call(lambda: sum(one.unsent_bytes() for one in connected(server)))

    def grows_no_more() -> bool:
        before = unsent()
        time.sleep(0.1)
        return MB < before == unsent()  # what the buffers of the system hold is not counted

    wait_until(grows_no_more)
    assert unsent() <= 41 * MB
    for client in clients:
        client.close()


def test_nothing_is_held_when_all_have_gone(server: Running) -> None:
    chance = random.Random(2)
    for _ in range(60):
        client = server.connect()
        size = chance.choice([10, 30 * KB, 600 * KB, 2 * MB])
        data = request(chance.choice(["GetItem", "PutItem", "Scan"]), b" " * size) * 2
        client.send(data[: chance.randint(1, len(data))])
        if chance.random() < 0.5:
            time.sleep(0.01)
        client.close()
    wait_until(lambda: not server.connections())
    budget = server.server.clients.budget
    wait_until(lambda: [calls.held for calls in budget.calls] == [0, 0])
    for size, stranger, free in ((1, True, 2), (MB, True, 17), (1, False, 16), (MB, False, 50)):
        assert budget.share(size, stranger).free == free * MB
    assert (budget.unsent._clients, budget.unsent._bytes_at_first) == ({}, 0)
    assert not server.server.clients.strangers


def test_a_connection_stops_reading_while_a_turn_is_full(server: Running) -> None:
    """What arrives while others are handled does not pile up: there is one piece of each."""
    clients = [server.connect() for _ in range(3 * ARRIVALS_PER_TURN)]
    turns = server.server.clients.turns
    most = [0]
    for client in clients:
        client.send(request("GetItem") * 20)
    for _ in range(50):
        most[0] = max(most[0], server.call(lambda: len(turns._arrived)))
    assert most[0] <= 2 * len(clients)
    for client in clients:
        assert [client.receive()[0] for _ in range(20)] == [200] * 20
        client.close()


class Throttling(EchoRuntime):
    def submit(self, name: str, body: bytes, done: Done, *_: object) -> None:
        done(ThrottlingException("later"))


def test_a_throttled_client_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its answer late, and its next request waits for that."""
    monkeypatch.setattr(connection, "THROTTLED_SECONDS", 0.2)
    with running(uvloop.new_event_loop(), runtime=Throttling()) as server:
        client = server.connect()
        began = time.monotonic()
        client.send(request("Query"), request("Query"))
        answers = [client.receive() for _ in range(2)]
        assert time.monotonic() - began >= 2 * connection.THROTTLED_SECONDS
        assert all(status == 400 and b"ThrottlingException" in body for status, _, body in answers)
        client.close()
