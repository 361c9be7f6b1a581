"""Limits, and hostile texts: all get DynamoDB's own error, and none takes long."""

from collections.abc import Callable

import pytest
from comparing import ratio

from hashrange.expressions import Expressions
from hashrange.expressions.checks import RESERVED_WORDS
from hashrange.model.errors import ValidationException
from hashrange.model.limits import (
    EXPRESSION_BYTES_MAX,
    EXPRESSION_OPERATORS_MAX,
    IN_OPERANDS_MAX,
    NESTING_LEVELS_MAX,
)
from hashrange.model.values import AttributeValue

VALUES = {":a": {"N": "1"}}
BINDERS: list[tuple[str, str]] = [
    ("condition", "ConditionExpression"),
    ("filter", "FilterExpression"),
    ("key_condition", "KeyConditionExpression"),
    ("projection", "ProjectionExpression"),
    ("update", "UpdateExpression"),
]


def refusal(binder: str, text: str) -> str:
    with pytest.raises(ValidationException) as caught:
        getattr(Expressions(None, {":a": {"N": "1"}}), binder)(text)
    return caught.value.message


@pytest.mark.parametrize(("binder", "parameter"), BINDERS)
def test_size_of_a_text(binder: str, parameter: str) -> None:
    text = {"projection": "a", "update": "SET a = :a"}.get(binder, "a = :a")
    longest = text.ljust(EXPRESSION_BYTES_MAX)
    getattr(Expressions(None, dict(VALUES)), binder)(longest)
    message = f"Invalid {parameter}: Expression size has exceeded the maximum allowed size;"
    assert refusal(binder, longest + " ") == message
    in_bytes = "é" * (EXPRESSION_BYTES_MAX // 2) + " "
    assert refusal(binder, in_bytes) == message


@pytest.mark.parametrize(("binder", "parameter"), BINDERS)
def test_empty_text(binder: str, parameter: str) -> None:
    assert refusal(binder, "") == f"Invalid {parameter}: The expression can not be empty;"
    assert refusal(binder, " ") == f'Invalid {parameter}: Syntax error; token: "<EOF>", near: " "'


TOO_MANY = "The expression contains too many operators; operator count: 301"


@pytest.mark.parametrize(
    ("most", "too_many"),
    [
        ("NOT " + " OR ".join(["a=:a"] * 150), " OR ".join(["a=:a"] * 151)),
        ("NOT " * 299 + "a=:a", "NOT " * 300 + "a=:a"),
        (
            " AND ".join(["attribute_exists(a)"] * 150),
            " AND ".join(["attribute_exists(a)"] * 151),
        ),
        (" AND ".join(["size(a)=:a"] * 100), " AND ".join(["size(a)=:a"] * 101)),
        (" AND ".join(["a IN (:a,b)"] * 150), " AND ".join(["a IN (:a,b)"] * 151)),
        (" OR ".join(["a BETWEEN b AND c"] * 150), " OR ".join(["a BETWEEN b AND c"] * 151)),
    ],
)
def test_operators_of_a_condition(most: str, too_many: str) -> None:
    assert refusal("condition", too_many) == f"Invalid ConditionExpression: {TOO_MANY}"
    assert Expressions(None, dict(VALUES)).condition(most).matches(None) in (True, False)


def test_operators_of_an_update() -> None:
    sums = [f"a{i}=:a+:a" for i in range(EXPRESSION_OPERATORS_MAX)]
    new = Expressions(None, dict(VALUES)).update("SET " + ",".join(sums)).apply({})
    assert len(new) == EXPRESSION_OPERATORS_MAX
    message = refusal("update", "SET b=:a+:a," + ",".join(sums))
    assert message == f"Invalid UpdateExpression: {TOO_MANY}"


def test_assignments_do_not_count_as_operators() -> None:
    targets = [f"a{i}=:a" for i in range(400)]
    assert len(Expressions(None, dict(VALUES)).update("SET " + ",".join(targets)).apply({})) == 400


def test_number_of_operands_of_in() -> None:
    most = f"a IN ({','.join([':a'] * IN_OPERANDS_MAX)})"
    assert Expressions(None, dict(VALUES)).condition(most).matches({"a": {"N": "1"}})
    assert refusal("condition", most.replace("(", "(:a,")) == (
        "Invalid ConditionExpression: The IN operator is provided with too many operands; "
        "number of operands: 101"
    )


@pytest.mark.parametrize("step", [".b", "[0]"])
def test_levels_of_a_path(step: str) -> None:
    deepest = "a" + step * (NESTING_LEVELS_MAX - 1)
    assert Expressions(None, None).projection(deepest).project({}) == {}
    for binder, text in (("projection", "{}"), ("condition", "{}=:a"), ("update", "SET {}=:a")):
        assert refusal(binder, text.format(deepest + step)).endswith(
            "The document path has too many nesting levels; nesting levels: 33"
        )


def nested(levels: int) -> AttributeValue:
    value: AttributeValue = {"N": "1"}
    for _ in range(levels - 1):
        value = {"L": [value]}
    return value


def test_an_update_cannot_nest_deeper_than_items_may_be() -> None:
    values = {":v": nested(NESTING_LEVELS_MAX - 1)}
    update = Expressions(None, values).update("SET a[0] = :v")
    assert update.apply({"a": {"L": []}}) == {"a": {"L": [values[":v"]]}}
    deeper = Expressions(None, {":v": nested(NESTING_LEVELS_MAX)}).update("SET a[0] = :v")
    with pytest.raises(ValidationException, match="Nesting Levels have exceeded"):
        deeper.apply({"a": {"L": []}})


DEEP: list[tuple[str, str, str]] = [
    ("condition", "(" * 4096, 'Syntax error; token: "<EOF>", near: "("'),
    ("condition", "(" * 2000 + "a=:a" + ")" * 2000, "The expression has redundant parentheses;"),
    ("condition", "(" * 2000 + "a" + ")" * 2000, "The expression has redundant parentheses;"),
    ("condition", "NOT " * 1000 + "a=:a", TOO_MANY),
    ("condition", "NOT(" * 700 + "a=:a" + ")" * 700, TOO_MANY),
    ("condition", "(a=b OR " * 400 + "a=b" + ")" * 400, TOO_MANY),
    ("condition", "a=" + "size(" * 600 + "a" + ")" * 600, "operand type: N"),
    ("condition", "f(" * 1300 + "a" + ")" * 1300, "Invalid function name; function: f"),
    ("condition", "f(" * 2000, 'Syntax error; token: "<EOF>", near: "("'),
    ("condition", "a" + "[0]" * 1300 + "=:a", "nesting levels: 1301"),
    ("condition", "a" + "[" * 4000, 'Syntax error; token: "[", near: "[[["'),
    ("condition", "a" + ".a" * 2000 + "=:a", "nesting levels: 2001"),
    ("update", "SET a=" + "(" * 2000 + "b" + ")" * 2000, "redundant parentheses;"),
    ("update", "SET a=" + "(" * 4000, 'Syntax error; token: "<EOF>", near: "("'),
    ("projection", "(" * 4096, 'Syntax error; token: "(", near: "(("'),
]


@pytest.mark.parametrize(("binder", "text", "message"), DEEP)
def test_depth_needs_no_recursion(binder: str, text: str, message: str) -> None:
    assert len(text) <= EXPRESSION_BYTES_MAX
    assert refusal(binder, text).endswith(message)


def at_depth(frames: int, act: Callable[[], bool]) -> bool:
    return at_depth(frames - 1, act) if frames else act()


def test_the_deepest_that_is_allowed_leaves_stack_for_the_caller() -> None:
    value = {"N": "1"}

    def act() -> bool:
        condition = Expressions(None, {":a": value}).condition("NOT " * 299 + "a=:a")
        assignment = "SET a=" + "if_not_exists(b," * 200 + ":a" + ")" * 200
        update = Expressions(None, {":a": value}).update(assignment)
        return condition.matches({"a": {"N": "2"}}) and update.apply({}) == {"a": value}

    assert at_depth(450, act)


def test_two_thousand_paths_do_not_take_quadratic_time() -> None:
    paths = [f"{a}{b}" for a in "bcdfghjklmpqrvwxz" for b in "0123456789bcdfghjklmnpqrstvwxz"]
    words = [path for path in paths if path.upper() not in RESERVED_WORDS]

    def parse(bytes_max: int) -> None:
        text = ",".join(word + "[1]" for word in words)[:bytes_max].rpartition(",")[0]
        Expressions(None, None).projection(text)

    most = EXPRESSION_BYTES_MAX
    assert ratio(lambda: parse(most), lambda: parse(most // 8)) < 3 * 8


def test_big_sets_do_not_take_quadratic_time() -> None:
    def update(size: int) -> Callable[[], object]:
        members = [str(i) for i in range(size)]
        bound = Expressions(None, {":s": {"SS": members[1:]}}).update("DELETE a :s ADD b :s")

        def apply() -> None:
            new = bound.apply({"a": {"SS": members}, "b": {"SS": members}})
            assert new["a"] == {"SS": ["0"]}

        return apply

    assert ratio(update(60_000), update(7_500)) < 3 * 8


def test_there_are_573_reserved_words() -> None:
    assert len(RESERVED_WORDS) == 573
    assert all(word.isalpha() and word.isupper() for word in RESERVED_WORDS)


@pytest.mark.parametrize("write", [str.upper, str.lower, str.title])
def test_reserved_words_are_refused_except_by_aliases(
    write: Callable[[str], str],
) -> None:
    for word in map(write, RESERVED_WORDS):
        refused = f"Attribute name is a reserved keyword; reserved keyword: {word}"
        assert refusal("projection", f"a.{word}") == f"Invalid ProjectionExpression: {refused}"
        assert Expressions({"#w": word}, None).projection("#w").project({word: {"S": ""}})
        if word.upper() not in ("AND", "OR", "NOT", "BETWEEN", "IN"):
            message = refusal("condition", f"{word} = :a")
            assert message == f"Invalid ConditionExpression: {refused}"
        if word.upper() not in ("SET", "ADD", "DELETE"):
            message = refusal("update", f"REMOVE {word}")
            assert message == f"Invalid UpdateExpression: {refused}"
