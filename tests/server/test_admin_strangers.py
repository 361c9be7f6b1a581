"""The admin port beside more clients than it serves."""

import http.client
import socket
import threading
from contextlib import closing, suppress

import pytest
from test_admin_port import Admin
from waiting import SECONDS_MAX, wait_until

from hashrange.server.admin import Answer, Route, port, text_answer


def test_silent_connections_do_not_shut_the_port() -> None:
    """The oldest client that has sent no whole request gives way to the next one."""
    with closing(Admin({"/open": Route(lambda query: text_answer("open"), open=True)})) as admin:
        silent = [socket.create_connection(("127.0.0.1", admin.port)) for _ in range(20)]
        half = [socket.create_connection(("127.0.0.1", admin.port)) for _ in range(20)]
        for each in half:
            with suppress(OSError):  # it may have been disconnected already
                each.sendall(b"GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert all(admin.get("/open") == (200, "open\n") for _ in range(10))
        for each in (*silent, *half):
            each.close()


def test_clients_that_are_being_answered_are_not_turned_away() -> None:
    """If all have sent a request, the new client is disconnected."""
    go_on = threading.Event()

    def wait(query: object) -> Answer:
        assert go_on.wait(SECONDS_MAX)
        return text_answer("waited")

    answers: list[tuple[int, str]] = []
    with closing(Admin({"/wait": Route(wait, open=True)})) as admin:
        clients = [
            threading.Thread(target=lambda: answers.append(admin.get("/wait")))
            for _ in range(port.CONNECTIONS_MAX)
        ]
        for client in clients:
            client.start()
        wait_until(lambda: admin.answering() == port.CONNECTIONS_MAX)
        with pytest.raises((OSError, http.client.HTTPException)):
            admin.get("/wait")
        go_on.set()
        for client in clients:
            client.join()
    assert answers == [(200, "waited\n")] * port.CONNECTIONS_MAX
