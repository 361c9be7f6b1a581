"""Values as they are shown and entered: emoji, plain JSON, and faults beside their fields."""

from html import unescape
from typing import Any

import pytest

from console import shop
from console.asking import Browserless, Open
from console.test_statement import send
from hashrange.tools.console.values import cursor, dumps

BOB = {"pk": {"S": "customer#bob"}, "sk": {"S": "profile"}}
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
RAINBOW = "\U0001f3f3\ufe0f\u200d\U0001f308"


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    shop.make(client)
    return opened(write=True).enter()


@pytest.mark.parametrize("emoji", [FAMILY, RAINBOW, "\U0001f44d\U0001f3fd"])
def test_a_joined_emoji_stays_whole(console: Browserless, client: Any, emoji: str) -> None:
    text = "x" * (161 - len(emoji)) + emoji + "y" * 10
    item = {**BOB, "short": {"S": emoji}, "hidden": {"S": "a\u200db"}, "long": {"S": text}}
    client.put_item(TableName="shop", Item=item)
    page = console.ask("/table/shop").text
    assert f">{emoji}<" in page
    assert page.count("U+200D") == 1, "that of the letters"
    assert f"{'x' * (161 - len(emoji))}<" in page, "the emoji is left out, not cut"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n": 1.50, "t": true}', {"n": {"N": "1.50"}, "t": {"BOOL": True}}),
        ('{"a": [1, "x", null]}', {"a": {"L": [{"N": "1"}, {"S": "x"}, {"NULL": True}]}}),
        (
            '{"m": {"cup": 12345678901234567890}}',
            {"m": {"M": {"cup": {"N": "12345678901234567890"}}}},
        ),
    ],
)
def test_plain_json_is_an_item_too(
    console: Browserless, client: Any, text: str, expected: dict[str, Any]
) -> None:
    key = '{"pk": "customer#bob", "sk": "profile", '
    answer = console.post("/table/shop/item/review", json=key + text[1:], read=dumps(BOB))
    assert answer.status == 200
    assert unescape(answer.text).count(dumps({**BOB, **expected})) == 1


@pytest.mark.parametrize(
    "text", ['{"pk": {"S": "a"}, "sk": {"S": "b"}, "n": 5}', '{"pk": NaN}', "[1]", "{", "5", '"a"']
)
def test_json_that_is_neither(console: Browserless, text: str) -> None:
    answer = console.post("/table/shop/item/review", json=text)
    assert answer.status == 400
    assert 'role="alert"' in answer.text


def test_a_map_in_a_form_is_plain_json_too(console: Browserless) -> None:
    fields = [("name", "pk"), ("kind", "S"), ("text", "a"), ("name", "sk"), ("kind", "S")]
    fields += [("text", "b"), ("name", "m"), ("kind", "M"), ("text", '{"cup": [6]}')]
    answer = console.post("/table/shop/item/review", *fields)
    assert '"m":{"M":{"cup":{"L":[{"N":"6"}]}}}' in unescape(answer.text)


def test_each_fault_is_beside_its_field(console: Browserless) -> None:
    fields = []
    for name, kind, text in (
        ("pk", "S", "a"),
        ("sk", "S", "b"),
        ("many", "N", "twelve"),
        ("good", "N", "12"),
        ("bytes", "B", "?"),
        ("large", "N", "1e200"),
    ):
        fields += [("name", name), ("kind", kind), ("text", text)]
    answer = console.post("/table/shop/item/review", *fields)
    assert answer.status == 400
    rows = answer.text.split('<div class="field attribute">')[1:]
    assert [row.count('class="fault"') for row in rows] == [0, 0, 1, 0, 1, 1]
    assert [row.count('aria-invalid="true"') for row in rows] == [0, 0, 1, 0, 1, 1]


def test_the_attributes_of_a_large_item_are_filtered(
    console: Browserless, client: Any, browser: Any
) -> None:
    many = {f"attribute {number:04}": {"N": str(number)} for number in range(1000)}
    client.put_item(TableName="shop", Item={**BOB, **many})
    context = browser.new_context()
    page = context.new_page()
    page.goto(console.url)
    page.goto(f"http://{console.parts.netloc}/table/shop/item?key={cursor(BOB)}")
    page.keyboard.press("/")
    page.keyboard.type("0777")
    assert page.locator("#item tbody tr:visible").count() == 1
    context.close()


def test_a_fault_of_a_statement_has_a_caret_and_advice(console: Browserless) -> None:
    answer = send(console, "SELECT * FROM shop ORDER total")
    alert = unescape(answer.text.partition('role="alert"')[2].partition("</pre>")[0])
    assert "^" in alert.splitlines()[1]
    answer = send(console, "DROP TABLE shop")
    assert "PartiQL has no such statement" in answer.text
