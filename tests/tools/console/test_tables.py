"""The list of tables and the details of one."""

import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from console import shop
from console.asking import Open


@pytest.fixture
def tables(client: Any) -> Any:
    shop.make(client)
    client.update_time_to_live(
        TableName="shop", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    client.create_table(
        TableName="provisioned",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        Tags=[{"Key": "team", "Value": "red"}],
    )
    return client


def text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_what_is_told_of_each_table(tables: Any, opened: Open) -> None:
    shown = text(opened().enter().ask("/").text)
    assert f"shop active {shop.ORDERS + 2}" in shown
    assert "pk S sk S by-status on demand none until" in shown
    assert "provisioned active 0 0 bytes id N none 7 r / 3 w new image none" in shown


def test_the_details_of_a_table(tables: Any, opened: Open) -> None:
    console = opened().enter()
    shown = text(console.ask("/table/shop/details").text)
    assert "by-status global status S total N all 12" in shown
    assert re.search(r"Created \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC ", shown)
    assert "team = red" in text(console.ask("/table/provisioned/details").text)


def test_more_tables_than_fit_on_a_page(client: Any, opened: Open) -> None:
    for number in range(51):
        client.create_table(**{**shop.TABLE, "TableName": f"table-{number:02}"})
    console = opened().enter()
    page = console.ask("/").text
    assert "table-49" in page
    assert "table-50" not in page
    [more] = re.findall(r'data-next href="([^"]+)"', page)
    assert re.findall(r"table-\d\d", text(console.ask(more).text)) == ["table-50"]


@pytest.mark.parametrize("code", ["AccessDeniedException", "UnknownOperationException"])
def test_a_service_that_does_not_tell_everything(code: str, tables: Any, opened: Open) -> None:
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": ""}}, "operation")

    for operation in ("DescribeTimeToLive", "ListTagsOfResource"):
        tables.meta.events.register(f"before-call.dynamodb.{operation}", refuse)
    console = opened().enter()
    assert "unknown" in text(console.ask("/").text)
    assert "unknown" in text(console.ask("/table/shop/details").text)
