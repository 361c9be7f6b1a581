"""Addresses, dogs, cats and parrots with boto3: one index holds different facts of each kind.

`index1sk` begins with a namespace, `dog:command:` or `parrot:words:`, so one index serves every
kind: `begins_with` for names and hierarchies, BETWEEN for numbers (padded with zeros) and dates
(ISO 8601). BETWEEN includes both ends. A query reads one namespace.

animals.py declares the same table.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

from boto3.dynamodb.conditions import Key
from showing import Client, Item, Pattern, items, key_schema, main, put_all, strings

TABLE = "animals"
WORDS_DIGITS = 6
WORDS_MAX = 10**WORDS_DIGITS - 1
END = "~"
"""Sorts after every character of an id."""

ADDRESSES = [
    ("London", "Westminster", "Downing St", 10),
    ("London", "Westminster", "Buckingham Palace", 1),
    ("London", "Camden", "Parkway", 1),
    ("Leeds", "Headingley", "Otley Rd", 5),
]
DOGS = [
    ("Rex", "roll over", date(2019, 5, 1)),
    ("Bello", "sit", date(2021, 2, 14)),
    ("Waldi", "beg", date(2020, 1, 1)),
    ("Lassie", "sit", date(2023, 3, 3)),
]
CATS = [
    ("Tom", "spruce", date(2020, 7, 30)),
    ("Mia", "oak", date(2022, 4, 4)),
    ("Leo", "elm", date(2018, 8, 8)),
]
PARROTS = [("Polly", 3), ("Coco", 101), ("Rio", 201)]


def create(client: Client) -> None:
    indexes = [(f"index{n}", (f"index{n}pk", f"index{n}sk")) for n in (1, 2)]
    client.create_table(
        TableName=TABLE,
        KeySchema=key_schema("pk", "sk"),
        AttributeDefinitions=strings("pk", "sk", *(key for _, keys in indexes for key in keys)),
        GlobalSecondaryIndexes=[
            {
                "IndexName": name,
                "KeySchema": key_schema(*keys),
                "Projection": {"ProjectionType": "ALL"},
            }
            for name, keys in indexes
        ],
        BillingMode="PAY_PER_REQUEST",
    )


# ---- items ----


def new_address(number: int, city: str, district: str, street: str, house: int) -> Item:
    address_id = str(number)
    return {
        "entityType": "Address",
        "pk": f"address#{address_id}",
        "sk": "info",
        "index1pk": "addresses",
        "index1sk": f"{city}:{district}:{street}:{house:05}",
        "address_id": address_id,
        "city": city,
        "district": district,
        "street": street,
        "number": house,
    }


def new_dog(name: str, command: str, born: date) -> Item:
    index1 = {"index1pk": "animals", "index1sk": f"dog:command:{command}:{name}"}
    index2 = {"index2pk": "birthdays", "index2sk": f"dog:{born}:{name}"}
    fields = {"animal_id": name, "command": command, "born": f"{born}"}
    return {"entityType": "Dog", **animal_key(name, "info"), **index1, **index2, **fields}


def new_cat(name: str, tree: str, born: date) -> Item:
    index1 = {"index1pk": "animals", "index1sk": f"cat:treeclimbed:{tree}:{name}"}
    index2 = {"index2pk": "birthdays", "index2sk": f"cat:{born}:{name}"}
    fields = {"animal_id": name, "tree": tree, "born": f"{born}"}
    return {"entityType": "Cat", **animal_key(name, "info#cat"), **index1, **index2, **fields}


def new_parrot(name: str, words: int) -> Item:
    index1 = {"index1pk": "animals", "index1sk": f"{words_key(words)}:{name}"}
    fields = {"animal_id": name, "words": words}
    return {"entityType": "Parrot", **animal_key(name, "info#parrot"), **index1, **fields}


def animal_key(name: str, sk: str) -> Item:
    return {"pk": f"animal#{name}", "sk": sk}


def words_key(words: int) -> str:
    """A sort key with a number. It is padded with zeros, because strings are compared from the
    left: "9" would come after "10"."""
    return f"parrot:words:{words:0{WORDS_DIGITS}}"


def zoo() -> Iterator[Item]:
    for number, address in enumerate(ADDRESSES):
        yield new_address(number, *address)
    yield from (new_dog(*dog) for dog in DOGS)
    yield from (new_cat(*cat) for cat in CATS)
    yield from (new_parrot(*parrot) for parrot in PARROTS)


def load(client: Client) -> None:
    for _ in put_all(client, TABLE, zoo()):
        pass


# ---- access patterns ----


def addresses(client: Client, *place: str) -> list[Item]:
    """The addresses of a place, whose parts are given from the largest to the smallest.

    For example, `addresses(client, "London", "Westminster")`.
    """
    beginning = "".join(f"{part}:" for part in place)
    return _index(client, 1, "addresses", Key("index1sk").begins_with(beginning))


def dogs(client: Client) -> list[Item]:
    return _index(client, 1, "animals", Key("index1sk").begins_with("dog:command:"))


def dogs_that(client: Client, command: str) -> list[Item]:
    return _index(client, 1, "animals", Key("index1sk").begins_with(f"dog:command:{command}:"))


def cats(client: Client) -> list[Item]:
    return _index(client, 1, "animals", Key("index1sk").begins_with("cat:treeclimbed:"))


def parrots_between(client: Client, words: tuple[int, int]) -> list[Item]:
    """Parrots that know a number of words between two bounds; both bounds are included."""
    fewest, most = (words_key(number) for number in words)
    between = Key("index1sk").between(fewest, f"{most}:{END}")
    return _index(client, 1, "animals", between)


def parrots_above(client: Client, words: int) -> list[Item]:
    """Parrots that know more than a number of words. BETWEEN is used, because `>` alone would also
    read the next namespace."""
    return parrots_between(client, (words + 1, WORDS_MAX))


def parrots_below(client: Client, words: int) -> list[Item]:
    return parrots_between(client, (0, words - 1))


def dogs_born(client: Client, since: date, until: date) -> list[Item]:
    """Dogs born from `since` on, and before `until`.

    An upper bound without an id sorts before all keys of its day.
    """
    between = Key("index2sk").between(f"dog:{since}", f"dog:{until}")
    return _index(client, 2, "birthdays", between)


def cats_born(client: Client, since: date, until: date) -> list[Item]:
    """Like dogs_born, with a query of its own, because a query reads one namespace."""
    between = Key("index2sk").between(f"cat:{since}", f"cat:{until}")
    return _index(client, 2, "birthdays", between)


def _index(client: Client, number: int, pk: str, condition: Any) -> list[Item]:
    return items(
        client.query,
        TableName=TABLE,
        IndexName=f"index{number}",
        KeyConditionExpression=Key(f"index{number}pk").eq(pk) & condition,
    )


PATTERNS = [
    Pattern(
        "Get the addresses of a city",
        *("GSI 1", "Query", "index1pk = `addresses`", "index1sk begins_with `London:`", ""),
        run=lambda client: addresses(client, "London"),
    ),
    Pattern(
        "Get the addresses of a street",
        *("GSI 1", "Query", "index1pk = `addresses`"),
        *("index1sk begins_with `London:Westminster:Downing St:`", ""),
        run=lambda client: addresses(client, "London", "Westminster", "Downing St"),
    ),
    Pattern(
        "Get all dogs by the commands that they follow",
        *("GSI 1", "Query", "index1pk = `animals`", "index1sk begins_with `dog:command:`", ""),
        run=dogs,
    ),
    Pattern(
        "Get the dogs that follow a command",
        *("GSI 1", "Query", "index1pk = `animals`", "index1sk begins_with `dog:command:sit:`", ""),
        run=lambda client: dogs_that(client, "sit"),
    ),
    Pattern(
        "Get all cats by the trees they climb",
        *("GSI 1", "Query", "index1pk = `animals`", "index1sk begins_with `cat:treeclimbed:`", ""),
        run=cats,
    ),
    Pattern(
        "Get parrots knowing 2 to 5 words",
        *("GSI 1", "Query", "index1pk = `animals`"),
        *(f"index1sk BETWEEN `{words_key(2)}` AND `{words_key(5)}:{END}`", ""),
        run=lambda client: parrots_between(client, (2, 5)),
    ),
    Pattern(
        "Get parrots knowing more than 5 words",
        *("GSI 1", "Query", "index1pk = `animals`"),
        *(f"index1sk BETWEEN `{words_key(6)}` AND `{words_key(WORDS_MAX)}:{END}`", ""),
        run=lambda client: parrots_above(client, 5),
    ),
    Pattern(
        "Get dogs born in 2020 or 2021",
        *("GSI 2", "Query", "index2pk = `birthdays`"),
        *("index2sk BETWEEN `dog:2020-01-01` AND `dog:2022-01-01`", ""),
        run=lambda client: dogs_born(client, date(2020, 1, 1), date(2022, 1, 1)),
    ),
]


def prepare(client: Client) -> None:
    create(client)
    load(client)


if __name__ == "__main__":
    main("Addresses, dogs, cats and parrots in one index", prepare, PATTERNS)
