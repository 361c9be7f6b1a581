"""The same items three times: in a table, in a local index, and in a global index.

A partition has a range of the hash, and so the items of many partition keys. A local index is
stored in the partitions of its table, and sorts the items of each partition key in another way. A
global index has partitions of its own, and the hash of its own partition key decides which
partition has an entry.
"""

from typing import Any, NamedTuple

from simulated import Simulated, key_schema

PROJECTS = (
    ("abc123", "Foo Project", "jane", "2018-08-02"),
    ("abc123", "Other Foo Project", "john", "2018-03-02"),
    ("def456", "Bar Project", "jane", "2018-03-12"),
    ("def456", "Other Bar Project", "sarah", "2017-12-06"),
    ("ghi789", "Baz Project", "sarah", "2018-06-21"),
    ("mno345", "Qux Project", "lee", "2018-05-14"),
)
ATTRIBUTES = ("organisation_id", "name", "owner", "last_updated")


class Box(NamedTuple):
    """A partition: its number, its range of the hash, and its rows in sorted order."""

    number: int
    start: str
    end: str | None
    rows: list[dict[str, str]]


def boxes() -> dict[str, list[Box]]:
    """The partitions of the table, of its local index and of its global index."""
    db = Simulated()
    local = {
        "IndexName": "by_last_updated",
        "KeySchema": key_schema("organisation_id", "last_updated"),
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    db.create(
        "projects",
        *("organisation_id", "name"),
        indexes={"by_owner": ("owner",)},
        LocalSecondaryIndexes=[local],
    )
    for project in PROJECTS:
        db.put("projects", **dict(zip(ATTRIBUTES, project, strict=True)))
    [table] = db.inspect("projects")
    [owners] = [index for index in table["indexes"] if index["name"] == "by_owner"]
    return {
        "table": _boxes(db, table["partitions"], None, "organisation_id"),
        "by_last_updated": _boxes(db, table["partitions"], "by_last_updated", "organisation_id"),
        "by_owner": _boxes(db, owners["partitions"], "by_owner", "owner"),
    }


def _boxes(
    db: Simulated, partitions: list[dict[str, Any]], index: str | None, key: str
) -> list[Box]:
    """The items of the table or index by partition, from a Scan and `explain`."""
    boxes = {
        each["number"]: Box(each["number"], each["from"], each["to"], []) for each in partitions
    }
    source = {"TableName": "projects", **({"IndexName": index} if index else {})}
    for item in db.execute("Scan", source)["Items"]:
        query = {
            **source,
            "KeyConditionExpression": "#key = :value",
            "ExpressionAttributeNames": {"#key": key},
            "ExpressionAttributeValues": {":value": item[key]},
        }
        [read] = db.explain("Query", query)["consumed"]
        row = {name: text for name, value in item.items() for text in value.values()}
        boxes[read["partition"]].rows.append(row)
    return list(boxes.values())


def main() -> None:
    for name, partitions in boxes().items():
        print(f"\n{name}")
        for box in partitions:
            print(
                f"  partition {box.number}: {box.start[:4] or '0000'} to {(box.end or 'end')[:4]}"
            )
            for row in box.rows:
                print("   ", ", ".join(row[each] for each in ATTRIBUTES if each in row))


if __name__ == "__main__":
    main()
