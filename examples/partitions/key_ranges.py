"""A condition on the sort key is an interval of the sorted keys; numbers need zeros in front."""

from typing import NamedTuple

from simulated import Simulated

KEYS = (
    "London:Westminster:Buckingham Palace",
    "London:Westminster:Downing St:10",
    "London:Camden:Gower St:7",
    "dog:command:roll over",
    "dog:command:sit",
    "dog:command:beg",
    "cat:treeclimbed:spruce",
    "cat:treeclimbed:elm",
    "cat:treeclimbed:oak",
)
WORDS = (3, 101, 201)
"""The number of words that each of three parrots knows."""

PADDED, UNPADDED = "parrot:words:{:06d}", "parrot:words:{}"


class Pattern(NamedTuple):
    """A condition on the sort key, its meaning, the keys that it finds, and the keys wanted."""

    condition: str
    meaning: str
    found: list[str]
    wanted: list[str]


class Line(NamedTuple):
    """All keys in sorted order, and the patterns that read them."""

    keys: list[str]
    patterns: list[Pattern]


def prefixes() -> Line:
    """The range of keys that each prefix selects."""
    line = _Facts([*KEYS, *map(PADDED.format, WORDS)])
    meanings = {
        "London:": "addresses in London",
        "London:Westminster:": "addresses in Westminster",
        "London:Westminster:Downing St:": "addresses in Downing Street",
        "cat:treeclimbed:": "cats, by the trees they climb",
        "dog:command:": "dogs, by the commands they follow",
    }
    patterns = [
        Pattern(
            f"begins_with {prefix}",
            meaning,
            line.query("begins_with(sk, :0)", prefix),
            [key for key in line.query() if key.startswith(prefix)],
        )
        for prefix, meaning in meanings.items()
    ]
    return Line(line.query(), patterns)


def numbers(form: str) -> Line:
    """The ranges of parrots by the words they know, with numbers written in the format `form`."""
    line = _Facts([KEYS[4], *map(form.format, WORDS)])
    patterns = []
    for low, high, meaning in (
        (2, 5, "parrots with 2 to 5 words"),
        (5, 999_999, "parrots with 5 words or more"),
        (0, 4, "parrots with 4 words or fewer"),
    ):
        ends = form.format(low), form.format(high)
        shown = " AND ".join(end.removeprefix("parrot:words:") for end in ends)
        keys = line.query("sk BETWEEN :0 AND :1", *ends)
        wanted = [form.format(words) for words in WORDS if low <= words <= high]
        patterns.append(Pattern(f"BETWEEN {shown}", meaning, keys, wanted))
    return Line(line.query(), patterns)


class _Facts:
    """A table with these sort keys under one partition key."""

    def __init__(self, keys: list[str]) -> None:
        self._db = Simulated()
        self._db.create("facts", "pk", "sk")
        for key in keys:
            self._db.put("facts", pk="all", sk=key)

    def query(self, condition: str = "", *operands: str) -> list[str]:
        """The sort keys that a Query returns, in its order."""
        values = {f":{number}": {"S": operand} for number, operand in enumerate(operands)}
        request = {
            "TableName": "facts",
            "KeyConditionExpression": f"pk = :pk AND {condition}" if condition else "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "all"}, **values},
        }
        return [item["sk"]["S"] for item in self._db.execute("Query", request)["Items"]]


def main() -> None:
    for line in (prefixes(), numbers(PADDED), numbers(UNPADDED)):
        print(*line.keys, sep="\n")
        for pattern in line.patterns:
            told = "" if pattern.found == pattern.wanted else f", not {pattern.wanted}"
            print(f"  {pattern.condition} ({pattern.meaning}): {pattern.found}{told}")
        print()


if __name__ == "__main__":
    main()
