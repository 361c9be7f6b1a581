"""A large item collection: with a local index it has a limit, without one it is divided.

Sizes are a hundred-thousandth of DynamoDB's: partitions, and item collections of a table with a
local index, have at most 100 KB.
"""

from typing import Any, NamedTuple

from simulated import Simulated, key_schema

LIMIT_BYTES, ITEMS = 100_000, 30
TEXT = "x" * 7_900


class Moment(NamedTuple):
    """After a number of writes: the bytes of the item collection, and its number of partitions."""

    writes: int
    bytes: int
    partitions: int


class Growth(NamedTuple):
    """The growth of a collection; `refusal` is the name of the first error, if there was one."""

    moments: list[Moment]
    refusal: str | None


def grow(local: bool) -> Growth:
    """Put messages of 8 KB into one chat. After each message, the upkeep splits partitions."""
    db = Simulated(partition_bytes=LIMIT_BYTES, collection_bytes_max=LIMIT_BYTES)
    index = {
        "IndexName": "by_author",
        "KeySchema": key_schema("chat", "author"),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    members: dict[str, Any] = {"LocalSecondaryIndexes": [index]} if local else {}
    db.create("messages", "chat", "at", **members)
    moments, refusal = [Moment(0, 0, 1)], None
    for number in range(1, ITEMS + 1):
        item = {"chat": "CHAT#1", "at": f"{number:04}", "author": "ann", "text": TEXT}
        wire = {name: {"S": text} for name, text in item.items()}
        try:
            db.execute("PutItem", {"TableName": "messages", "Item": wire})
        except Exception as error:
            refusal = refusal or type(error).__name__
        db.wait(10)
        [table] = db.inspect("messages")
        [chat] = table["collections"]["largest"]
        inside = sum(1 for each in table["partitions"] if each["from_key"])
        moments.append(Moment(number, chat["bytes"], 1 + inside))
    return Growth(moments, refusal)


def main() -> None:
    for local in (True, False):
        growth = grow(local)
        print(f"{'with' if local else 'without'} a local index: {growth.refusal}")
        for moment in growth.moments[::5]:
            print("{:3} writes  {:7,} bytes  {} partitions".format(*moment))


if __name__ == "__main__":
    main()
