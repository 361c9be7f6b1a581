"""The cost of changing a name that has copies: the name of a user, and the name of a server.

A user is in 50 servers, and each membership has a copy of the user's name. A server has 1,000,000
members, and each membership might have a copy of the server's name as well. All 50 copies of the
user's name are changed. Of the million copies of the server's name, only MEMBERS are changed, and
the figures for all are computed from that.
"""

from typing import NamedTuple

from simulated import Simulated

USER_SERVERS, SERVER_MEMBERS = 50, 1_000_000
MEMBERS = 5_000
PARTITION_WRITE_UNITS = 1000


class Rename(NamedTuple):
    """A rename: the write units of the table and of its index, and the seconds that it took.

    A write that is refused is sent again after a tenth of a second.
    """

    copies: int
    table_units: float
    index_units: float
    seconds: float


def user() -> Rename:
    db = _database()
    for number in range(USER_SERVERS):
        _join(db, f"SERVER#{number}", "USER#1", username="John")
    keys = [(f"SERVER#{number}", "USER#1") for number in range(USER_SERVERS)]
    return _rename(db, keys, "username")


def server(members: int = MEMBERS) -> Rename:
    db = _database()
    for number in range(members):
        _join(db, "SERVER#1", f"USER#{number}", name="Gaming")
        if number % 500 == 499:
            db.wait(1)
    keys = [("SERVER#1", f"USER#{number}") for number in range(members)]
    return _rename(db, keys, "name")


def _database() -> Simulated:
    db = Simulated()
    db.create("chat", "pk", "sk", indexes={"gs1": ("gs1pk", "gs1sk")})
    return db


def _join(db: Simulated, server: str, user: str, **copied: str) -> None:
    refused = db.put("chat", pk=server, sk=user, gs1pk=user, gs1sk=server, role="Member", **copied)
    assert refused is None


def _rename(db: Simulated, keys: list[tuple[str, str]], attribute: str) -> Rename:
    db.wait(60)
    began, before = db.seconds, _units(db)
    for server, user in keys:
        request = {
            "TableName": "chat",
            "Key": {"pk": {"S": server}, "sk": {"S": user}},
            "UpdateExpression": "SET #name = :new",
            "ExpressionAttributeNames": {"#name": attribute},
            "ExpressionAttributeValues": {":new": {"S": "renamed"}},
        }
        while db.refused("UpdateItem", request):
            db.wait(0.1)
    table, index = (after - units for after, units in zip(_units(db), before, strict=True))
    return Rename(len(keys), table, index, round(db.seconds - began, 1))


def _units(db: Simulated) -> tuple[float, float]:
    """The write units that the table and its index have consumed so far."""
    [table] = db.inspect("chat")
    [index] = table["indexes"]
    return table["load"]["write_units"], index["load"]["write_units"]


def main() -> None:
    for name, renamed in (("user", user()), ("server", server())):
        print(f"{name}: {renamed}")
    print(f"{SERVER_MEMBERS:,} members: {SERVER_MEMBERS / PARTITION_WRITE_UNITS:,.0f} seconds")


if __name__ == "__main__":
    main()
