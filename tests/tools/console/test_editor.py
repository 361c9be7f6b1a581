"""The item editor, by its forms: what it writes, on which condition, and what it tells."""

import json
import re
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest

from console import shop
from console.asking import Answer, Browserless, Open
from console.test_statement import send
from hashrange.tools.console.values import cursor, dumps, item_of

BOB = {"pk": {"S": "customer#bob"}, "sk": {"S": "profile"}}
ITEM_PAGES = ("", "/edit", "/new", "/delete")
READ = {**BOB, "name": {"S": "bob"}}


@pytest.fixture
def console(client: Any, opened: Open) -> Browserless:
    shop.make(client)
    return opened(write=True).enter()


def get(client: Any, key: dict[str, Any] = BOB) -> Any:
    return client.get_item(TableName="shop", Key=key).get("Item")


def page(console: Browserless, name: str, key: dict[str, Any] = BOB, **more: str) -> str:
    answer = console.ask(f"/table/shop/item{name}?key={cursor(key)}&{more.get('query', '')}")
    assert answer.status == 200
    return answer.text


def fields(text: str) -> list[tuple[str, str]]:
    """The fields of the editor's form, as a browser would send them."""
    form = re.search(r'<form class="editor".*?</form>', text, re.DOTALL)
    assert form
    found = []
    for each in re.finditer(
        r'<input[^>]* name="(?P<in>[^"]+)"(?: value="(?P<value>[^"]*)")?|'
        r'<select name="(?P<select>[^"]+)".*?value="(?P<chosen>[^"]*)" selected|'
        r'<textarea[^>]* name="(?P<area>[^"]+)"[^>]*>\n(?P<text>.*?)</textarea>',
        form[0],
        re.DOTALL,
    ):
        name = each["in"] or each["select"] or each["area"]
        found.append((name, unescape(each["value"] or each["chosen"] or each["text"] or "")))
    return [(name, text) for name, text in found if name != "csrf"]


def save(console: Browserless, read: dict[str, Any] | None, item: dict[str, Any]) -> Answer:
    given = dumps(read) if read else ""
    return console.post("/table/shop/item/save", read=given, item=dumps(item))


def test_an_edit_is_shown_before_it_is_written(console: Browserless, client: Any) -> None:
    form = [
        (name, "Robert" if text == "bob" else text) for name, text in fields(page(console, "/edit"))
    ]
    form += [("name", "age"), ("kind", "N"), ("text", "41")]
    review = console.post("/table/shop/item/review", *form)
    assert review.status == 200
    shown = re.sub(r"<[^>]+>", "", review.text)
    for line in ("\u2212 bob", "+ Robert", "+ 41", "2 attributes stay"):
        assert line in shown
    assert get(client) == READ, "nothing is written yet"

    item = item_of(unescape(re.findall(r'name="item" hidden>\n(.*?)</textarea>', review.text)[0]))
    answer = save(console, READ, item)
    assert answer.status == 303
    assert get(client) == {**BOB, "name": {"S": "Robert"}, "age": {"N": "41"}}
    assert "Written." in console.ask(answer.headers["location"]).text


def test_attributes_are_removed(console: Browserless, client: Any) -> None:
    assert save(console, READ, BOB).status == 303
    assert get(client) == BOB


def test_a_lost_race_writes_nothing_and_shows_both(console: Browserless, client: Any) -> None:
    theirs = {**READ, "name": {"S": "Bobby"}}
    client.put_item(TableName="shop", Item=theirs)
    answer = save(console, READ, {**READ, "name": {"S": "Robert"}})
    assert answer.status == 409
    assert get(client) == theirs
    shown = re.sub(r"<[^>]+>", "", answer.text)
    assert "has been changed since you read it" in shown
    assert "+ Bobby" in shown
    assert "+ Robert" in shown

    again = console.post(
        "/table/shop/item/again", read=dumps(theirs), item=dumps({**READ, "name": {"S": "Robert"}})
    )
    assert again.status == 200
    assert ("text", "Robert") in fields(again.text)
    assert save(console, theirs, {**READ, "name": {"S": "Robert"}}).status == 303


def test_another_attribute_that_changed_is_a_lost_race_too(
    console: Browserless, client: Any
) -> None:
    client.put_item(TableName="shop", Item={**READ, "name": {"S": "Bobby"}})
    answer = save(console, READ, {**READ, "age": {"N": "1"}})
    assert answer.status == 409


def test_what_others_added_stays(console: Browserless, client: Any) -> None:
    client.put_item(TableName="shop", Item={**READ, "theirs": {"S": "new"}})
    assert save(console, READ, {**READ, "age": {"N": "1"}}).status == 303
    assert get(client) == {**READ, "theirs": {"S": "new"}, "age": {"N": "1"}}


def test_an_item_that_is_gone_is_not_made_again(console: Browserless, client: Any) -> None:
    client.delete_item(TableName="shop", Key=BOB)
    answer = save(console, READ, {**READ, "age": {"N": "1"}})
    assert answer.status == 409
    assert "has been deleted" in answer.text
    assert get(client) is None


def test_a_new_item_does_not_replace_another(console: Browserless, client: Any) -> None:
    new = {"pk": {"S": "customer#eve"}, "sk": {"S": "profile"}}
    assert save(console, None, new).status == 303
    assert get(client, new) == new
    answer = save(console, None, {**READ, "name": {"S": "other"}})
    assert answer.status == 409
    assert "An item with this key exists" in answer.text
    assert get(client) == READ


def test_an_item_with_many_attributes_is_watched_where_it_changes(
    console: Browserless, client: Any
) -> None:
    many = {**READ, **{f"attribute-{number}": {"N": "1"} for number in range(300)}}
    client.put_item(TableName="shop", Item=many)
    changed = {**many, "attribute-7": {"N": "2"}, "new": {"S": "x"}}
    client.put_item(TableName="shop", Item={**many, "attribute-8": {"N": "9"}})
    assert save(console, many, changed).status == 303
    assert save(console, many, changed).status == 409
    assert get(client) == {**changed, "attribute-8": {"N": "9"}}


def test_an_item_is_deleted_only_as_it_was_seen(console: Browserless, client: Any) -> None:
    assert "\u2212 bob" in re.sub(r"<[^>]+>", "", page(console, "/delete"))
    client.put_item(TableName="shop", Item={**READ, "name": {"S": "Bobby"}})
    answer = console.post("/table/shop/item/delete", read=dumps(READ))
    assert answer.status == 409
    assert "+ Bobby" in re.sub(r"<[^>]+>", "", answer.text)
    assert get(client) is not None
    read = dumps({**READ, "name": {"S": "Bobby"}})
    assert console.post("/table/shop/item/delete", read=read).status == 303
    assert get(client) is None


@pytest.mark.parametrize("as_json", [False, True])
def test_hostile_values_pass_through_the_form_unchanged(
    as_json: bool, console: Browserless, client: Any
) -> None:
    item = shop.hostile()
    client.put_item(TableName="shop", Item=item)
    text = page(console, "/edit", shop.HOSTILE_KEY, query="as=json" if as_json else "")
    assert "<script>window" not in text
    form = [(name, _as_sent(text)) for name, text in fields(text)]
    assert dict(form)["read"]
    answer = console.post("/table/shop/item/review", *form)
    assert answer.status == 200
    assert "Nothing changes." in answer.text


def test_no_page_has_the_markup_of_an_item(console: Browserless, client: Any) -> None:
    client.put_item(TableName="shop", Item=shop.hostile())
    key = f"key={cursor(shop.HOSTILE_KEY)}"
    statement = send(console, "SELECT * FROM shop")
    selected = console.post("/table/shop/selected", ("key", cursor(shop.HOSTILE_KEY)))
    query = f"pk={quote(shop.HOSTILE_KEY['pk']['S'])}&run=1"
    paths = ("", f"/query?{query}", f"/export?{query}", *(f"/item{p}?{key}" for p in ITEM_PAGES))
    pages = [console.ask(f"/table/shop{path}") for path in paths]
    for answer in (statement, selected, *pages):
        assert answer.status == 200
        for markup in ("<img src=x", "<script>window", "<b>:", "<i>"):
            assert markup not in re.sub(r'<i class="deep"></i>', "", answer.text)


def _as_sent(text: str) -> str:
    """What a browser makes of the text of a field."""
    return (
        text.replace("\x00", "\ufffd")
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\n", "\r\n")
    )


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("N", "many", "many"),
        ("B", "?", "base64"),
        ("BOOL", "maybe", "true or false"),
        ("M", "{", "needs JSON"),
        ("M", '{"a": 1, "b": {"N": "1"}}', "one type"),
        ("L", "{}", "list"),
        ("SS", '"a"', "list of texts"),
        ("SS", "[]", "empty"),
        ("escaped", "x", "in quotes"),
        ("X", "x", "not a type"),
    ],
)
def test_a_mistake_keeps_the_form(
    kind: str, text: str, said: str, console: Browserless, client: Any
) -> None:
    form = [*fields(page(console, "/edit")), ("name", "new"), ("kind", kind), ("text", text)]
    answer = console.post("/table/shop/item/review", *form)
    if answer.status == 200:  # only the service knows
        item = item_of(
            unescape(re.findall(r'name="item" hidden>\n(.*?)</textarea>', answer.text)[0])
        )
        answer = save(console, READ, item)
    assert answer.status == 400
    assert said in unescape(answer.text.partition('role="alert"')[2].partition("</p>")[0])
    assert ("name", "new") in fields(answer.text)
    assert get(client) == READ


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({**READ, "pk": {"S": "customer#eve"}}, "a key cannot change"),
        ({"sk": {"S": "profile"}}, "must be present"),
    ],
)
def test_keys_stay(item: Any, said: str, console: Browserless) -> None:
    answer = console.post("/table/shop/item/review", read=dumps(READ), json=json.dumps(item))
    assert said in answer.text
    assert save(console, READ, item).status == 400


def test_a_name_cannot_be_there_twice(console: Browserless) -> None:
    form = [*fields(page(console, "/edit")), ("name", "name"), ("kind", "S"), ("text", "")]
    assert "occurs twice" in console.post("/table/shop/item/review", *form).text


def test_the_json_is_the_whole_item(console: Browserless, client: Any) -> None:
    item = shop.hostile()
    client.put_item(TableName="shop", Item=item)
    assert item_of(page(console, "/json", shop.HOSTILE_KEY)) == get(client, shop.HOSTILE_KEY)


# ---- several items ----


def keys(*numbers: int) -> list[tuple[str, str]]:
    return [
        ("key", cursor({"pk": {"S": "customer#ann"}, "sk": {"S": f"order#{number:02}"}}))
        for number in numbers
    ]


def test_selected_items_are_deleted(console: Browserless, client: Any) -> None:
    asked = console.post("/table/shop/selected", *keys(1, 2))
    assert "2 items are selected" in asked.text
    assert client.scan(TableName="shop")["Count"] == shop.ORDERS + 2
    answer = console.post("/table/shop/selected/delete", *keys(*range(shop.ORDERS)))
    assert f"{shop.ORDERS} items deleted" in answer.text
    assert client.scan(TableName="shop")["Count"] == 2


def test_selected_items_are_copied_unless_their_key_is_taken(
    console: Browserless, client: Any
) -> None:
    client.create_table(**{**shop.TABLE, "TableName": "other"})
    taken = {**shop.order(1), "status": {"S": "theirs"}}
    client.put_item(TableName="other", Item=taken)
    client.delete_item(TableName="shop", Key=item_of(dumps({k: shop.order(2)[k] for k in BOB})))
    answer = console.post("/table/shop/selected/copy", *keys(1, 2, 3), to="other")
    for said in (
        "1 item copied",
        "1 item no longer there",
        "1 item not copied: an item with the key exists",
    ):
        assert said in answer.text
    found = client.scan(TableName="other")["Items"]
    assert sorted(found, key=str) == sorted([taken, shop.order(3)], key=str)


def test_a_copy_to_a_table_with_other_keys_tells_why(console: Browserless, client: Any) -> None:
    definitions = [{"AttributeName": "id", "AttributeType": "S"}]
    schema = [{"AttributeName": "id", "KeyType": "HASH"}]
    client.create_table(
        TableName="other",
        AttributeDefinitions=definitions,
        KeySchema=schema,
        BillingMode="PAY_PER_REQUEST",
    )
    answer = console.post("/table/shop/selected/copy", *keys(1), to="other")
    assert "1 item not copied: " in answer.text
    assert "Missing the key id" in unescape(answer.text)


def test_nothing_selected(console: Browserless) -> None:
    assert console.post("/table/shop/selected").status == 400
