"""A database that is stopped, locked, restarted, or whose backends are ended, under load.

Whatever happens to it, nothing that was acknowledged is lost or done twice, errors are those that
SDKs try again, and the server recovers by itself.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import wait_until

from hashrange.testing.postgres_server import PostgresServer

from .serving import client_of, serving
from .test_databases import CREATE
from .test_servers import Load, readiness, total

SOAK = bool(os.environ.get("HASHRANGE_SOAK"))
SECONDS = 40.0 if SOAK else 2.0
RETRIED = {"InternalServerError", "ThrottlingException"}


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(each) for each in found.stdout.split()]


def stopped(postgres: PostgresServer, schema: str) -> None:
    """All processes of the database are stopped for a while: it is there and does not answer."""
    postmaster = int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    processes = [postmaster, *children_of(postmaster)]
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    time.sleep(SECONDS)
    for each in processes:
        os.kill(each, signal.SIGCONT)


def locked(postgres: PostgresServer, schema: str) -> None:
    """Somebody holds a lock on the rows."""
    postgres.run(
        f"BEGIN; LOCK TABLE {schema}.rows IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({SECONDS}); "
        "COMMIT"
    )


def ended(postgres: PostgresServer, schema: str) -> None:
    """Random backends are ended again and again."""
    again_and_again(postgres, "pg_terminate_backend", "random() < 0.4", pause_seconds_max=0.1)


def cancelled(postgres: PostgresServer, schema: str) -> None:
    """All statements are cancelled again and again."""
    again_and_again(postgres, "pg_cancel_backend", "state = 'active'")


def again_and_again(
    postgres: PostgresServer, function: str, condition: str, pause_seconds_max: float = 0.0
) -> None:
    """Call a function for the backends of clients that meet a condition."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        postgres.run(
            f"SELECT {function}(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            f"AND backend_type = 'client backend' AND {condition}"
        )
        time.sleep(random.uniform(0, pause_seconds_max))


def slow(postgres: PostgresServer, schema: str) -> None:
    """Each write takes a tenth of a second."""
    postgres.run(
        f"SET search_path = {schema}; CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END$$; CREATE TRIGGER slow "
        "AFTER INSERT OR UPDATE ON rows FOR EACH STATEMENT EXECUTE FUNCTION slow()"
    )
    time.sleep(SECONDS)
    postgres.run(f"DROP TRIGGER slow ON {schema}.rows")


def full(postgres: PostgresServer, schema: str) -> None:
    """Its disk is full."""
    postgres.run(
        f"SET search_path = {schema}; CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql "
        "AS $$BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END$$; CREATE TRIGGER "
        "full_disk AFTER INSERT OR UPDATE ON rows EXECUTE FUNCTION full_disk()"
    )
    time.sleep(SECONDS)
    postgres.run(f"DROP TRIGGER full_disk ON {schema}.rows")


def restarted(postgres: PostgresServer, schema: str) -> None:
    """It is ended in order, as for a change of its settings: sessions are ended first."""
    postgres.run("ALTER SYSTEM SET max_connections = 60")
    postmaster = int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGINT)
    wait_until(lambda: not Path(postgres.folder, "data", "postmaster.pid").exists())
    postgres.kill()
    postgres.start()


IN_CI = [stopped, locked, ended, restarted]


@pytest.mark.parametrize("trouble", [*IN_CI, cancelled, slow, full] if SOAK else IN_CI)
def test_a_database_in_trouble(
    trouble: Callable[[PostgresServer, str], None], mortal_postgres_server: PostgresServer
) -> None:
    postgres = mortal_postgres_server
    dsn = postgres.new_schema()
    with serving(dsn) as first, serving(dsn) as second:
        servers = [first, second]
        client_of(first.url).create_table(**CREATE)
        loads = [Load([server.url], name=name) for server, name in zip(servers, "ab", strict=True)]
        wait_until(lambda: all(load.acknowledged > 20 for load in loads))
        trouble(postgres, dsn.rpartition("=")[2])
        done = [load.acknowledged for load in loads]
        wait_until(
            lambda: all(load.acknowledged > n + 20 for load, n in zip(loads, done, strict=True))
        )
        wait_until(lambda: all(readiness(server)[0] == 200 for server in servers))
        for load in loads:
            load.end()
        problems = Counter(problem for load in loads for problem in load.problems)
        acknowledged = sum(load.acknowledged for load in loads)
        longest = max(load.longest for load in loads)
        print(f"{acknowledged} answers, {dict(problems)}, longest {longest:.1f} s")
        assert set(problems) <= RETRIED
        assert total(client_of(first.url)) == acknowledged
        for server in servers:
            assert "Traceback" not in server.end()
