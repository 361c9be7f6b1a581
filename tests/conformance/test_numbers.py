"""Numbers: 38 significant digits, magnitudes 1E-130 to 9.99...E+125, and one canonical text."""

from typing import Any

from .support import NewTable, Table, cases, item, plains

NINES = "9" * 38

# (written, returned)
CANONICAL = [
    ("0", "0"),
    ("-0", "0"),
    ("0.000", "0"),
    ("0.0e126", "0"),
    ("000", "0"),
    ("5", "5"),
    ("+5", "5"),
    ("-5", "-5"),
    ("005", "5"),
    ("5.", "5"),
    (".5", "0.5"),
    ("-.5", "-0.5"),
    ("5.500", "5.5"),
    ("1.e5", "100000"),
    ("1e5", "100000"),
    ("1E+5", "100000"),
    ("1e-5", "0.00001"),
    ("-12.50e1", "-125"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    (NINES, NINES),
    (f"0.{NINES}", f"0.{NINES}"),
    (f"{NINES}000", f"{NINES}000"),
    (f"00{NINES}.00", NINES),
    ("1e125", "1" + "0" * 125),
    (f"9.{'9' * 37}e125", NINES + "0" * 88),
    (f"-9.{'9' * 37}e125", f"-{NINES}" + "0" * 88),
    ("1e-130", "0." + "0" * 129 + "1"),
    ("-1e-130", "-0." + "0" * 129 + "1"),
]

NOT_NUMERIC = "ValidationException: The parameter cannot be converted to a numeric value: {}"
TOO_LONG = "ValidationException: Attempting to store more than 38 significant digits in a Number"
OVERFLOW = (
    "ValidationException: Number overflow."
    " Attempting to store a number with magnitude larger than supported range"
)
UNDERFLOW = (
    "ValidationException: Number underflow."
    " Attempting to store a number with magnitude smaller than supported range"
)

# (written, the refusal)
REFUSED = [
    *(
        (text, NOT_NUMERIC.format(text))
        for text in ("abc", "NaN", "Infinity", "0x10", "1e", "1.2.3")
    ),
    *((text, NOT_NUMERIC.format(text)) for text in ("1 000", " 1", "1 ", "--1", "1,5")),
    ("", "ValidationException: The parameter cannot be converted to a numeric value…"),
    (f"1{NINES}", TOO_LONG),
    (f"0.1{NINES}", TOO_LONG),
    (f"1{'0' * 37}1", TOO_LONG),
    ("1e126", OVERFLOW),
    ("-1e126", OVERFLOW),
    ("10e125", OVERFLOW),
    ("0e126", OVERFLOW),
    ("1e-131", UNDERFLOW),
    ("-1e-131", UNDERFLOW),
    ("0e-131", UNDERFLOW),
]


@cases("written, returned", CANONICAL)
def test_a_number_comes_back_in_its_canonical_form(
    table: Table, written: str, returned: str
) -> None:
    table.call("PutItem", Item={**item(pk="a"), "n": {"N": written}, "s": {"NS": [written]}})
    found = table.call("GetItem", Key=item(pk="a"))["Item"]
    assert found["n"] == {"N": returned}
    assert found["s"] == {"NS": [returned]}


@cases("written, refusal", REFUSED)
def test_a_number_is_refused(table: Table, written: str, refusal: str) -> None:
    table.refused(refusal, "PutItem", Item={**item(pk="a"), "n": {"N": written}})
    assert table.get(pk="a") is None


@cases("written, refusal", REFUSED)
def test_a_number_inside_others_is_refused(table: Table, written: str, refusal: str) -> None:
    nested = {"M": {"l": {"L": [{"NS": ["1", written]}]}}}
    table.refused(refusal, "PutItem", Item={**item(pk="a"), "n": nested})


@cases("written, refusal", REFUSED)
def test_a_number_of_an_expression_is_refused(table: Table, written: str, refusal: str) -> None:
    table.refused(
        f"ValidationException: …{refusal.removeprefix('ValidationException: ')}…",
        "UpdateItem",
        Key=item(pk="a"),
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": written}},
    )


def test_one_and_one_point_zero_are_one_key(new_table: NewTable) -> None:
    table = new_table("pk:N/sk:N")
    spellings = [("1", "2.50"), ("1.0", "2.5"), ("+1", "0.25e1")]
    for count, (pk, sk) in enumerate(spellings):
        table.call("PutItem", Item={"pk": {"N": pk}, "sk": {"N": sk}, **item(count=count)})
    assert table.all() == [{"pk": 1, "sk": 5 / 2, "count": 2}]


# (the stored number, operation, the operand, the result or refusal)
MORE_THAN_38 = "ValidationException: …38 significant digits…"
ARITHMETIC = [
    ("1", "+", "2", "3"),
    ("1", "-", "2", "-1"),
    ("0.1", "+", "0.2", "0.3"),
    ("1e-130", "-", "1e-130", "0"),
    ("0.5", "+", "0.5", "1"),
    ("-3", "-", "-3", "0"),
    (f"{'9' * 37}8", "+", "1", NINES),
    (NINES, "+", "1", "1" + "0" * 38),
    ("1e50", "+", "1e49", "11" + "0" * 49),
    ("1e50", "+", "1", MORE_THAN_38),
    ("1e-130", "+", "1", MORE_THAN_38),
    (NINES, "-", "0.1", MORE_THAN_38),
    ("9e125", "+", "9e125", OVERFLOW),
    ("-9e125", "-", "9e125", OVERFLOW),
]


@cases("stored, operator, operand, outcome", ARITHMETIC)
def test_arithmetic_is_exact_or_refused(
    table: Table, stored: str, operator: str, operand: str, outcome: str
) -> None:
    table.call("PutItem", Item={**item(pk="a"), "n": {"N": stored}})
    update: dict[str, Any] = {
        "Key": item(pk="a"),
        "UpdateExpression": f"SET n = n {operator} :o",
        "ExpressionAttributeValues": {":o": {"N": operand}},
        "ReturnValues": "UPDATED_NEW",
    }
    if outcome.startswith("ValidationException"):
        table.refused(outcome, "UpdateItem", **update)
    else:
        assert table.call("UpdateItem", **update)["Attributes"] == {"n": {"N": outcome}}


# Ascending, and all different.
ASCENDING = [
    f"-9.{'9' * 37}e125", "-1e125", "-1e100", "-100", "-10", "-9.9", "-9", "-2", "-1.5", "-1",
    "-0.5", "-0.1", "-0.09", "-1e-100", "-1.5e-130", "-1e-130", "0", "1e-130", "1.5e-130",
    "1e-129", "1e-100", "0.09", "0.1", "0.11", "0.5", "1", "1.05", "1.5", "2", "9", "9.9", "10",
    "10.1", "99", "100", "12345678901234567890123456789012345678", "1e100", "1e125",
    f"9.{'9' * 37}e125",
]  # fmt: skip


def test_number_sort_keys_are_in_numeric_order(new_table: NewTable) -> None:
    table = new_table("pk/sk:N")
    shuffled = sorted(range(len(ASCENDING)), key=lambda i: (i * 17) % len(ASCENDING))
    for rank in shuffled:
        table.call("PutItem", Item={**item(pk="a", rank=rank), "sk": {"N": ASCENDING[rank]}})
    for forward in (True, False):
        response = table.query("pk = :p", values={":p": "a"}, ScanIndexForward=forward)
        ranks = [found["rank"] for found in plains_without_keys(response)]
        assert ranks == sorted(range(len(ASCENDING)), reverse=not forward)


def plains_without_keys(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Only the ranks: some keys have more digits than boto3 can convert."""
    ranks = [{"rank": found["rank"]} for found in response["Items"]]
    return plains({"Items": ranks})
