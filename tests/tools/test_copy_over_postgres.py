"""hashrange copy from PostgreSQL and to it: the same database twice, and one that goes away."""

import threading
from pathlib import Path

import pytest
from moving_data import Run, content, fault, fill, folder, numbered, ordered, run
from small import little_patience as little_patience
from waiting import wait_until

import hashrange
from hashrange.testing.postgres_server import PostgresServer

__all__ = ["folder", "run"]  # fixtures


def test_one_database_under_two_addresses_is_refused(
    durable_postgres_server: PostgresServer, folder: Path, run: Run
) -> None:
    first = durable_postgres_server.new_schema()
    fill(first, [numbered(1)])
    again = first.replace("hashrange@/", "/") + "&user=hashrange"
    assert "the same" in fault(run("copy", first, again))


def test_two_schemas_of_one_database_are_two_databases(
    durable_postgres_server: PostgresServer, folder: Path, run: Run
) -> None:
    first, second = (durable_postgres_server.new_schema() for _ in range(2))
    items = [numbered(number) for number in range(30)]
    fill(first, items)
    ended = run("copy", first, second)
    assert ended.status == 0, ended.error
    assert content(second) == ordered(items)


def test_an_ordinary_user_may_copy(
    durable_postgres_server: PostgresServer, folder: Path, run: Run
) -> None:
    server = durable_postgres_server
    address = server.new_schema()
    schema = address.rpartition("=")[2]
    server.run(
        "DROP ROLE IF EXISTS copier",
        "CREATE ROLE copier LOGIN",
        f"GRANT ALL ON SCHEMA {schema} TO copier",
    )
    fill("a.db", [numbered(1)])
    ended = run("copy", "a.db", address.replace("hashrange@", "copier@"))
    assert ended.status == 0, ended.error


@pytest.mark.usefixtures("little_patience")
def test_a_database_that_stays_away(
    mortal_postgres_server: PostgresServer, folder: Path, run: Run
) -> None:
    """The command ends, says that it may be run again, and then goes on."""
    postgres = mortal_postgres_server
    items = [numbered(number) | {"v": {"S": "x" * 2000}} for number in range(2000)]
    fill("a.db", items)
    address = postgres.new_schema()

    def kill() -> None:
        wait_until(Path("hashrange-copy.progress").exists)
        postgres.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    ended = run("copy", "a.db", address, "--rate", "1000")
    killer.join()
    assert "run the same command again to continue" in fault(ended)
    postgres.start()
    other = postgres.new_schema()
    assert "another transfer" in fault(run("copy", "a.db", other)), "of the same database"
    ended = run("copy", "a.db", address)
    assert ended.status == 0, ended.error
    assert content(address) == ordered(items)
    assert not Path("hashrange-copy.progress").exists()


@pytest.mark.parametrize("description", ["{", "{}", '{"KeySchema": [{"AttributeName": "a"}]}'])
def test_a_wrong_description_leaves_no_file(folder: Path, run: Run, description: str) -> None:
    Path("a.jsonl").write_text('{"Item": {"pk": {"S": "1"}}}\n')
    Path("wrong.json").write_text(description)
    assert fault(run("import", "new.db", "table", "a.jsonl", "--create", "wrong.json"))
    assert fault(run("import", "new.db", "table", "a.jsonl", "--create", "absent.json"))
    assert not [path.name for path in Path().iterdir() if "new" in path.name]


def test_the_place_of_a_file_is_its_name() -> None:
    with hashrange.connect() as database:
        assert not database.place()
