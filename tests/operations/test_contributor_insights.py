"""Contributor Insights are enabled and disabled, described and listed."""

from collections.abc import Iterator
from typing import Any

import pytest

import hashrange
from hashrange import Database, Settings
from hashrange.model.errors import ApiError
from hashrange.testing import TestClock

START = 1_800_000_000.25
DELAY = 2.0
ACCESSED, THROTTLED = "ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"
RULE = "DynamoDBContributorInsights"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"


def table(name: str, *indexes: str, sorted_: bool = True) -> dict[str, Any]:
    """A request for a table with global indexes, and with a local one if it has a sort key."""
    pk, sk = {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}
    request: dict[str, Any] = {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            *([{"AttributeName": "sk", "AttributeType": "S"}] if sorted_ else []),
        ],
        "KeySchema": [pk, sk] if sorted_ else [pk],
        "BillingMode": "PAY_PER_REQUEST",
    }
    keys_only = {"ProjectionType": "KEYS_ONLY"}
    if indexes:
        request["GlobalSecondaryIndexes"] = [
            {"IndexName": each, "KeySchema": [pk], "Projection": keys_only} for each in indexes
        ]
    if sorted_:
        local = {"IndexName": "local", "KeySchema": [pk, sk], "Projection": keys_only}
        request["LocalSecondaryIndexes"] = [local]
    return request


class Tables:
    def __init__(self, delay: float = DELAY) -> None:
        self.clock = TestClock(START)
        self.db: Database = hashrange.connect(
            clock=self.clock, settings=Settings(table_delay=delay)
        )

    def create(self, *names: str, **members: Any) -> None:
        self.db.execute("CreateTable", table(*names, **members))
        self.clock.advance(DELAY)

    def update(self, action: str, name: str = "one", **members: Any) -> dict[str, Any]:
        members["ContributorInsightsAction"] = action
        return self.db.execute("UpdateContributorInsights", {"TableName": name, **members})

    def describe(self, name: str = "one", **members: Any) -> dict[str, Any]:
        return self.db.execute("DescribeContributorInsights", {"TableName": name, **members})

    def listed(self, **members: Any) -> list[tuple[str, str | None, str]]:
        """The tables, indexes and statuses of one page."""
        answer = self.db.execute("ListContributorInsights", members)
        return [
            (each["TableName"], each.get("IndexName"), each["ContributorInsightsStatus"])
            for each in answer["ContributorInsightsSummaries"]
        ]


@pytest.fixture
def tables() -> Iterator[Tables]:
    opened = Tables()
    with opened.db:
        yield opened


def test_statuses_follow_from_the_time(tables: Tables) -> None:
    tables.create("one", "by-pk")
    assert tables.describe() == {"TableName": "one", "ContributorInsightsStatus": "DISABLED"}
    made = tables.clock.now()
    mode = {"ContributorInsightsMode": ACCESSED}
    enabling = {"TableName": "one", "ContributorInsightsStatus": "ENABLING", **mode}
    assert tables.update("ENABLE") == enabling
    assert tables.describe() == {**enabling, "LastUpdateDateTime": made}
    tables.clock.advance(DELAY)
    stamp = f"one-{int(made * 1000)}"
    assert tables.describe() == {
        "TableName": "one",
        "ContributorInsightsRuleList": [
            f"{RULE}-PKC-{stamp}",
            f"{RULE}-SKC-{stamp}",
            f"{RULE}-PKT-{stamp}",
            f"{RULE}-SKT-{stamp}",
        ],
        "ContributorInsightsStatus": "ENABLED",
        "LastUpdateDateTime": made,
        **mode,
    }
    tables.clock.advance(10)
    disabled = tables.clock.now()
    disabling = {"TableName": "one", "ContributorInsightsStatus": "DISABLING", **mode}
    assert tables.update("DISABLE", ContributorInsightsMode=THROTTLED) == disabling
    assert tables.describe() == {**disabling, "LastUpdateDateTime": disabled}
    tables.clock.advance(DELAY)
    done = {**disabling, "ContributorInsightsStatus": "DISABLED"}
    assert tables.describe() == {**done, "LastUpdateDateTime": disabled}


def test_the_same_once_more_changes_nothing(tables: Tables) -> None:
    tables.create("one")
    disabled = {"TableName": "one", "ContributorInsightsStatus": "DISABLED"}
    assert tables.update("DISABLE") == disabled
    assert tables.describe() == disabled
    tables.update("ENABLE", ContributorInsightsMode=ACCESSED)
    assert tables.update("ENABLE")["ContributorInsightsStatus"] == "ENABLING"
    tables.clock.advance(DELAY)
    before = tables.describe()
    tables.clock.advance(10)
    assert tables.update("ENABLE")["ContributorInsightsStatus"] == "ENABLED"
    assert tables.describe() == before
    tables.update("DISABLE")
    tables.clock.advance(DELAY)
    assert tables.update("DISABLE")["ContributorInsightsStatus"] == "DISABLED"


def test_a_mode_is_changed_by_enabling_again(tables: Tables) -> None:
    tables.create("one", sorted_=False)
    tables.update("ENABLE")
    tables.clock.advance(DELAY)
    accessed, throttled = tables.describe()["ContributorInsightsRuleList"]
    assert (accessed[:31], throttled[:31]) == (f"{RULE}-PKC", f"{RULE}-PKT")
    narrowed = tables.update("ENABLE", ContributorInsightsMode=THROTTLED)
    assert narrowed["ContributorInsightsStatus"] == "ENABLING"
    assert narrowed["ContributorInsightsMode"] == THROTTLED
    tables.clock.advance(DELAY)
    assert tables.describe()["ContributorInsightsRuleList"] == [throttled]
    assert tables.update("ENABLE")["ContributorInsightsMode"] == ACCESSED
    tables.clock.advance(DELAY)
    assert tables.describe()["ContributorInsightsRuleList"] == [accessed, throttled]
    tables.update("DISABLE")
    tables.update("ENABLE")
    tables.clock.advance(DELAY)
    assert tables.describe()["ContributorInsightsRuleList"] != [accessed, throttled]


def test_indexes_have_their_own(tables: Tables) -> None:
    tables.create("one", "by-pk", "by-two")
    by_pk = {"IndexName": "by-pk"}
    made = int(tables.clock.now() * 1000)
    answer = tables.update("ENABLE", f"{ARN}one", ContributorInsightsMode=THROTTLED, **by_pk)
    assert answer == {
        "TableName": "one",
        "IndexName": "by-pk",
        "ContributorInsightsStatus": "ENABLING",
        "ContributorInsightsMode": THROTTLED,
    }
    tables.clock.advance(DELAY)
    described = tables.describe(f"{ARN}one", **by_pk)
    assert described["ContributorInsightsRuleList"] == [f"{RULE}-PKT-one-by-pk-{made}"]
    assert tables.describe()["ContributorInsightsStatus"] == "DISABLED"
    assert tables.describe(IndexName="by-two")["ContributorInsightsStatus"] == "DISABLED"
    assert tables.listed(TableName=f"{ARN}one") == [("one", "by-pk", "ENABLED")]
    updates = [{"Delete": {"IndexName": "by-pk"}}]
    tables.db.execute("UpdateTable", {"TableName": "one", "GlobalSecondaryIndexUpdates": updates})
    assert tables.listed() == []


def test_pages_of_the_list(tables: Tables) -> None:
    for name in ("two", "one", "three"):
        tables.create(name, "by-pk", "also")
        tables.update("ENABLE", name)
        tables.update("ENABLE", name, IndexName="by-pk")
    tables.clock.advance(DELAY)
    tables.update("DISABLE", "three")
    expected = [
        ("one", None, "ENABLED"),
        ("one", "by-pk", "ENABLED"),
        ("three", None, "DISABLING"),
        ("three", "by-pk", "ENABLED"),
        ("two", None, "ENABLED"),
        ("two", "by-pk", "ENABLED"),
    ]
    assert tables.listed() == expected
    assert tables.listed(TableName="two") == expected[4:]
    for size in (1, 2, 4, 6):
        found: list[Any] = []
        request: dict[str, Any] = {"MaxResults": size}
        pages = 0
        while True:
            answer = tables.db.execute("ListContributorInsights", request)
            page = answer["ContributorInsightsSummaries"]
            assert 0 < len(page) <= size
            assert all(each["ContributorInsightsMode"] == ACCESSED for each in page)
            found += [(each["TableName"], each.get("IndexName")) for each in page]
            pages += 1
            if "NextToken" not in answer:
                break
            request["NextToken"] = answer["NextToken"]
        assert found == [place[:2] for place in expected]
        assert pages == -(-6 // size)
    tables.clock.advance(DELAY)
    assert ("three", None, "DISABLED") not in tables.listed()
    tables.db.execute("DeleteTable", {"TableName": "two"})
    assert tables.listed() == [*expected[:2], expected[3]]
    tables.create("two", "by-pk")
    assert tables.listed(TableName="two") == []


NOT_FOUND = "ResourceNotFoundException: Requested resource not found: "
INDEX = NOT_FOUND + "Index: {} not found for table: one"
CASES: list[tuple[str, dict[str, Any], str]] = [
    *(
        (name, {**action, "TableName": "absent", "IndexName": "absent"}, told)
        for name, action, told in (
            ("Update", {"ContributorInsightsAction": "ENABLE"}, "Table: absent not found"),
            ("Describe", {}, "Table: absent not found"),
        )
    ),
    ("List", {"TableName": "absent", "NextToken": "?"}, "Table: absent not found"),
    *(
        (name, {**action, "TableName": "one", "IndexName": index}, INDEX.format(index))
        for name, action in (("Update", {"ContributorInsightsAction": "DISABLE"}), ("Describe", {}))
        for index in ("local", "absent")
    ),
    ("List", {"NextToken": "?"}, "ValidationException: Invalid NextToken"),
    ("List", {"MaxResults": 101}, "Member must have value less than or equal to 100"),
    ("Update", {"TableName": "one"}, "at 'contributorInsightsAction' failed to satisfy"),
    (
        "Update",
        {"TableName": "absent", "ContributorInsightsAction": "CHANGE"},
        "Member must satisfy enum value set: [ENABLE, DISABLE]",
    ),
    (
        "Update",
        {
            "TableName": "absent",
            "ContributorInsightsAction": "ENABLE",
            "ContributorInsightsMode": "ALL",
        },
        "Member must satisfy enum value set: [THROTTLED_KEYS, ACCESSED_AND_THROTTLED_KEYS]",
    ),
    (
        "Update",
        {"TableName": "absent", "ContributorInsightsAction": "ENABLE", "IndexName": "x"},
        "IndexName must be at least 3 characters long and at most 255 characters long",
    ),
]


@pytest.mark.parametrize(("name", "request_", "told"), CASES)
def test_refusals(tables: Tables, name: str, request_: dict[str, Any], told: str) -> None:
    """In the order of precedence: the request, the table, the index, what may be done with it."""
    tables.create("one", "by-pk")
    with pytest.raises(ApiError) as refused:
        tables.db.execute(f"{name}ContributorInsights", request_)
    assert told in f"{refused.value.code}: {refused.value.message}"


def test_only_what_is_active_can_be_enabled(tables: Tables) -> None:
    told = "Table or Index is not in a valid state to update Key Access Insights: {} must be ACTIVE"
    tables.db.execute("CreateTable", table("one", "by-pk"))
    assert tables.describe()["ContributorInsightsStatus"] == "DISABLED"
    for index in ({}, {"IndexName": "by-pk"}):
        with pytest.raises(ApiError, match=told.format("TableStatus")):
            tables.update("ENABLE", **index)
    tables.clock.advance(DELAY)
    assert tables.update("ENABLE", IndexName="by-pk")["ContributorInsightsStatus"] == "ENABLING"


def test_an_index_that_is_built_has_none_yet() -> None:
    class Resting(Database):
        def start_upkeep(self) -> None:
            """The build waits."""

    from hashrange.storage.memory import MemoryStore

    with Resting(MemoryStore()) as db:
        db.execute("CreateTable", table("one"))
        create = {
            "IndexName": "later",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
        db.execute(
            "UpdateTable",
            {
                "TableName": "one",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "GlobalSecondaryIndexUpdates": [{"Create": create}],
            },
        )
        request = {"TableName": "one", "IndexName": "later", "ContributorInsightsAction": "ENABLE"}
        with pytest.raises(ApiError, match="IndexStatus must be ACTIVE to enable"):
            db.execute("UpdateContributorInsights", request)
        db.run_upkeep()
        answer = db.execute("UpdateContributorInsights", request)
        assert answer["ContributorInsightsStatus"] == "ENABLING"


def test_they_survive_in_a_file(tmp_path: Any) -> None:
    path = tmp_path / "database.db"
    with hashrange.connect(path) as db:
        db.execute("CreateTable", table("one"))
        request = {"TableName": "one", "ContributorInsightsAction": "ENABLE"}
        db.execute("UpdateContributorInsights", request)
    with hashrange.connect(path) as db:
        described = db.execute("DescribeContributorInsights", {"TableName": "one"})
        assert described["ContributorInsightsStatus"] == "ENABLED"
