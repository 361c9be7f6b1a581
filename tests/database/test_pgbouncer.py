"""Servers behind a real pgbouncer in transaction mode, if it is installed."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from loopback import own_address
from waiting import SECONDS_MAX, wait_until

import hashrange
from hashrange.testing.postgres_server import PostgresServer

from .serving import client_of, serving
from .test_databases import CREATE
from .test_servers import Load, total


@pytest.fixture
def pooled(durable_postgres_server: PostgresServer) -> Iterator[str]:
    """An address of a new database by way of pgbouncer, with fewer connections than its clients."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    server = durable_postgres_server
    name = server.new_database().split("/")[3].split("?")[0]
    address = own_address()
    settings = server.folder / f"{name}.ini"  # the user nobody may read it
    settings.write_text(
        f"[databases]\n{name} = host={server.folder} port=5432 dbname={name} user=hashrange\n"
        f"[pgbouncer]\nlisten_addr = {address}\nlisten_port = 6432\nunix_socket_dir =\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
    )
    user = "nobody" if os.getuid() == 0 else None
    process = subprocess.Popen([program, str(settings)], stderr=subprocess.DEVNULL, user=user)
    try:
        yield f"postgresql://hashrange@{address}:6432/{name}?pgbouncer=1"
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)


def test_two_servers_behind_pgbouncer(pooled: str) -> None:
    with serving(pooled) as first, serving(pooled) as second:
        client_of(first.url).create_table(**CREATE)
        loads = [Load([server.url], name=server.port) for server in (first, second)]
        wait_until(lambda: all(load.acknowledged > 50 for load in loads))
        for load in loads:
            load.end()
        assert not [problem for load in loads for problem in load.problems]
        assert total(client_of(first.url)) == sum(load.acknowledged for load in loads)
        for server in (first, second):
            assert not server.end()
    with hashrange.connect(pooled) as database:
        assert not list(database.check())
