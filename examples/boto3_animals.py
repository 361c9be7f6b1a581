"""Dogs, cats and parrots with boto3: one index attribute holds what differs from kind to kind.

`index1` begins with a namespace, `dog:command:` or `parrot:words:`, so one index serves every
kind: `begins_with` for names and hierarchies, BETWEEN for numbers (padded with zeros) and dates
(ISO 8601). BETWEEN includes both ends. Each namespace is a query of its own.
"""

from datetime import date
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, items, key_schema, main, put_all, strings

TABLE = "animals"
WORDS_DIGITS = 6
WORDS_MAX = 10**WORDS_DIGITS - 1

DOGS = {"Rex": ["roll over", "sit"], "Bello": ["beg", "sit"]}
CATS = {"Tom": ["spruce", "elm"], "Mia": ["oak"]}
PARROTS = {"Polly": 3, "Coco": 101, "Rio": 201}
BIRTHDAYS = {
    "dog:Rex": date(2019, 5, 1),
    "dog:Bello": date(2021, 2, 14),
    "cat:Tom": date(2020, 7, 30),
    "parrot:Polly": date(1998, 1, 3),
}
ADDRESSES = [
    "London:Westminster:Downing St:10",
    "London:Westminster:Buckingham Palace",
    "London:Camden:Parkway:1",
    "Leeds:Headingley:Otley Rd:5",
]


def create(client: Client) -> None:
    """A shelter is a partition; the local index orders it by `index1`, if an item has that."""
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("shelter", "id"),
        AttributeDefinitions=strings("shelter", "id", "index1"),
        LocalSecondaryIndexes=[
            {
                "IndexName": "index1",
                "KeySchema": key_schema("shelter", "index1"),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def trait(name: str, index1: str) -> Item:
    """One item per thing that can be asked for."""
    return {"shelter": "north", "id": f"{name}/{index1}", "name": name, "index1": index1}


def words_key(words: int) -> str:
    """Padded, as texts are compared from the left: "9" would come after "10"."""
    return f"parrot:words:{words:0{WORDS_DIGITS}}"


def load(client: Client) -> None:
    new = [trait(dog, f"dog:command:{command}") for dog in DOGS for command in DOGS[dog]]
    new += [trait(cat, f"cat:treeclimbed:{tree}") for cat in CATS for tree in CATS[cat]]
    new += [trait(parrot, words_key(words)) for parrot, words in PARROTS.items()]
    for kind_and_name, day in BIRTHDAYS.items():
        kind, name = kind_and_name.split(":")
        new.append(trait(name, f"{kind}:born:{day.isoformat()}"))
    new += [{"shelter": "homes", "id": address, "index1": address} for address in ADDRESSES]
    new.append({"shelter": "north", "id": "opening hours", "hours": "9-17"})
    for _ in put_all(client, TABLE, new):
        pass


# ---- access patterns ----


def beginning(client: Client, prefix: str, shelter: str = "north") -> list[str]:
    """What is under a prefix, in order."""
    return _index1(client, shelter, Key("index1").begins_with(prefix))


def dog_commands(client: Client) -> list[str]:
    return beginning(client, "dog:command:")


def trees_climbed(client: Client) -> list[str]:
    return beginning(client, "cat:treeclimbed:")


def parrots_knowing(client: Client, fewest: int, most: int = WORDS_MAX) -> list[str]:
    """Parrots that know so many words; both numbers are included."""
    return _index1(client, "north", Key("index1").between(words_key(fewest), words_key(most)))


def born_between(client: Client, kind: str, first: date, last: date) -> list[str]:
    """Of one kind: every namespace is a range of its own."""
    bounds = (f"{kind}:born:{day.isoformat()}" for day in (first, last))
    return _index1(client, "north", Key("index1").between(*bounds))


def addresses(client: Client, *place: str) -> list[str]:
    """From the largest to the smallest: `addresses(client, "London", "Westminster")`."""
    return beginning(client, "".join(f"{part}:" for part in place), shelter="homes")


def _index1(client: Client, shelter: str, condition: Any) -> list[str]:
    found = items(
        client.query,
        TableName=TABLE,
        IndexName="index1",
        KeyConditionExpression=Key("shelter").eq(shelter) & condition,
    )
    return [item["index1"] for item in found]


PATTERNS = [
    Pattern(
        "Get the commands that dogs follow",
        *("LSI", "Query", "shelter = `north`", "index1 begins_with `dog:command:`", ""),
        run=dog_commands,
    ),
    Pattern(
        "Get the trees that cats climbed",
        *("LSI", "Query", "shelter = `north`", "index1 begins_with `cat:treeclimbed:`", ""),
        run=trees_climbed,
    ),
    Pattern(
        "Get parrots knowing 2 to 5 words",
        *("LSI", "Query", "shelter = `north`"),
        *(f"index1 BETWEEN `{words_key(2)}` AND `{words_key(5)}`", ""),
        run=lambda client: parrots_knowing(client, 2, 5),
    ),
    Pattern(
        "Get parrots knowing more than 5 words",
        *("LSI", "Query", "shelter = `north`"),
        *(f"index1 BETWEEN `{words_key(6)}` AND `{words_key(WORDS_MAX)}`", ""),
        run=lambda client: parrots_knowing(client, 6),
    ),
    Pattern(
        "Get dogs born since 2020",
        *("LSI", "Query", "shelter = `north`"),
        *("index1 BETWEEN `dog:born:2020-01-01` AND `dog:born:9999-12-31`", ""),
        run=lambda client: born_between(client, "dog", date(2020, 1, 1), date.max),
    ),
    Pattern(
        "Get all addresses in London",
        *("LSI", "Query", "shelter = `homes`", "index1 begins_with `London:`", ""),
        run=lambda client: addresses(client, "London"),
    ),
    Pattern(
        "Get all addresses in Downing St",
        *("LSI", "Query", "shelter = `homes`"),
        *("index1 begins_with `London:Westminster:Downing St:`", ""),
        run=lambda client: addresses(client, "London", "Westminster", "Downing St"),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Dogs, cats and parrots in one index", prepare, PATTERNS)
