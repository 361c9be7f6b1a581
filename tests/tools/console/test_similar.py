"""Vector indexes in the console: similar items, and vectors as their number and length."""

from typing import Any

from console.asking import Open
from hashrange.tools.console.values import cursor

NUMBERS = 40


def vector(first: float) -> dict[str, Any]:
    return {"L": [{"N": str(first)}, *[{"N": "1"}] * (NUMBERS - 1)]}


def fill(client: Any) -> None:
    client.create_table(
        TableName="docs",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "tenant")
        ],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[
            {
                "IndexName": "meaning",
                "VectorAttribute": {"AttributeName": "e"},
                "SearchSchema": [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}],
                "Dimensions": NUMBERS,
                "DistanceFunction": "EUCLIDEAN",
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    for name, first, tenant in (("p0", 0, "t"), ("p9", 9, "t"), ("<p1>", 1, "t"), ("u", 0, "u")):
        item = {"pk": {"S": name}, "tenant": {"S": tenant}, "e": vector(first)}
        client.put_item(TableName="docs", Item=item)
    client.put_item(TableName="docs", Item={"pk": {"S": "plain"}, "e": vector(1)})


def test_similar_items_are_shown_with_their_scores(opened: Open, client: Any) -> None:
    fill(client)
    console = opened().enter()
    key = cursor({"pk": {"S": "p0"}})
    item = console.ask(f"/table/docs/item?key={key}").text
    assert f"/table/docs/similar?key={key}&amp;index=meaning" in item
    assert "vector of 40, length 6.245" in item
    page = console.ask(f"/table/docs/similar?key={key}&index=meaning")
    assert page.status == 200
    places = [page.text.index(text) for text in ("0.0000", "1.0000", "&lt;p1&gt;", "9.0000")]
    assert places == sorted(places)
    assert cursor({"pk": {"S": "u"}}) not in page.text
    assert "vector of 40" in console.ask("/table/docs").text
    assert "40 dimensions" in console.ask("/table/docs/details").text


def test_an_item_outside_of_the_index_has_no_similar_ones(opened: Open, client: Any) -> None:
    fill(client)
    console = opened().enter()
    for key, index in (("plain", "meaning"), ("p0", "other"), ("gone", "meaning")):
        address = f"/table/docs/similar?key={cursor({'pk': {'S': key}})}&index={index}"
        assert console.ask(address).status == 404
    assert (
        "similar?" not in console.ask(f"/table/docs/item?key={cursor({'pk': {'S': 'plain'}})}").text
    )
