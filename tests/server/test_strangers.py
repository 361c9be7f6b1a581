"""What strangers cannot do: leave their requests in memory, or speak in other people's names."""

import asyncio
import gc
import logging
import re
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvloop
from serving import Running, request, running
from waiting import wait_until

from hashrange import wire
from hashrange.server.access_log import access_log, log_access


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    with running(request.param()) as server:
        yield server


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


def connections_in_memory() -> int:
    return sum(isinstance(held, wire.Connection) for held in gc.get_objects())


def test_a_client_that_leaves_takes_its_unfinished_request_with_it(server: Running) -> None:
    unfinished = request("PutItem", b"x" * 1_000_000)[:-1]
    with without_garbage_collection():
        connections_before = connections_in_memory()
        bytes_before, _ = tracemalloc.get_traced_memory()
        for _ in range(20):
            client = server.connect()
            client.send(unfinished)
            wait_until(lambda: any(served._wire.reading for served in server.connections()))
            client.close()
            wait_until(lambda: not server.connections())
        wait_until(lambda: connections_in_memory() == connections_before)
        bytes_after, _ = tracemalloc.get_traced_memory()
        assert bytes_after - bytes_before < len(unfinished)


def test_an_access_key_cannot_write_lines_of_its_own_into_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    query = (
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20260101T000000Z&X-Amz-SignedHeaders=host"
        "&X-Amz-Credential=A%0Aoperation=Scan%20%1B/20260101/us-east-1/dynamodb/aws4_request"
        "&X-Amz-Signature=00"
    )
    header, unsigned = re.compile(rb"Authorization: .*\r\n"), request("GetItem")
    presigned = header.sub(b"", unsigned).replace(b"POST / ", f"POST /?{query} ".encode())
    with (
        caplog.at_level(logging.INFO, logger=access_log.name),
        running(asyncio.new_event_loop(), observer=log_access) as server,
    ):
        client = server.connect()
        assert client.ask(presigned)[0] == 200
        client.close()
    [line] = caplog.messages
    assert line.isprintable()
    assert " access_key=A%0Aoperation%3DScan%20%1B request_id=" in line
