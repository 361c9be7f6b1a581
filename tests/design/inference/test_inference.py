"""Models that are inferred from the items of tables have the keys of the models that wrote them."""

import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.declare.entity import Entity
from hashrange.design.errors import BadValue, NotFound, NotUnique
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import run
from hashrange.design.execute.store_steps import StoreSteps

from ..models import model
from ..test_examples import example

Item = dict[str, Any]
SEEDS = [
    ("organisations", "organisations"),
    ("organisations", "projects"),
    ("orders", "table"),
    ("sensors", "table"),
    ("animals", "table"),
    ("chat", "table"),
]
ALSO_WRITTEN = {
    "{placed:%Y-%m-%dT%H:%M:%S.%fZ}": "{placed}",
}
"""Templates that write the same texts."""


def fill(table: st.Table, database: hashrange.Database, *, parents: int = 25, seed: int = 0) -> int:
    """Create the table with items of all entities; returns how many."""
    table.create(database)
    core, connection = StoreSteps(table.model, [], None, None), connect(database)
    count = 0
    for item in st.sample(table, parents=parents, children=60, seed=seed, readable=True):
        try:
            run(core.write("create", item), connection)
        except (NotUnique, NotFound, BadValue, st.AlreadyExists):
            continue
        count += 1
    return count


def declared(source: str) -> st.Table:
    """The table of an inferred module, which has to run."""
    module = sys.modules["an_inferred_model"] = ModuleType("an_inferred_model")
    exec(source, vars(module))
    return next(value for value in vars(module).values() if isinstance(value, st.Table))


def templates(entity: Entity) -> dict[str, str]:
    """By key attribute, the template."""
    found = {}
    for key in (entity.key, *entity.indexes):
        for column in key.columns:
            text = str(column.template)
            for longer, shorter in ALSO_WRITTEN.items():
                text = text.replace(longer, shorter)
            found[column.attribute] = text
    return found


def stored(database: hashrange.Database, name: str) -> list[Item]:
    found: list[Item] = []
    request: Item = {"TableName": name}
    while True:
        response = database.execute("Scan", request)
        found += response["Items"]
        if "LastEvaluatedKey" not in response:
            return found
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def same_keys(table: st.Table, items: list[Item]) -> int:
    """How many items a model reads and writes again under the same keys, byte for byte."""
    keys = {c.attribute for source in table.model.sources for c in source.columns}
    count = 0
    for raw in items:
        item = table.load(raw)
        if item is not None:
            again = table.model.entity(type(item)).dump(item)
            assert {k: again.get(k) for k in keys} == {k: raw.get(k) for k in keys}
            count += 1
    return count


def put(database: hashrange.Database, table: str, /, **values: Any) -> None:
    item = {n: v if isinstance(v, Mapping) else {"S": v} for n, v in values.items()}
    database.execute("PutItem", {"TableName": table, "Item": item})


# ---- the tables of the seeds ----


@pytest.mark.parametrize(("name", "attribute"), SEEDS)
def test_the_examples_have_the_same_keys(
    name: str, attribute: str, database: hashrange.Database
) -> None:
    table = getattr(example(name), attribute)
    count = fill(table, database)
    found = st.infer(database, table.name)
    assert (found.verified, found.unmatched) == (count, 0)
    inferred = declared(found.text)
    assert {s.name: (s.kind, s.columns, s.project) for s in inferred.model.sources} == {
        s.name: (s.kind, s.columns, s.project) for s in table.model.sources
    }
    by_name = {entity.name: entity for entity in inferred.model.entities}
    if table.model.type_attribute is None:
        [only] = inferred.model.entities
        by_name = {table.model.entities[0].name: only}
    for entity in table.model.entities:
        assert templates(by_name[entity.name]) == templates(entity)
        assert [(str(u.template), u.namespace) for u in by_name[entity.name].unique] == [
            (str(u.template), u.namespace) for u in entity.unique
        ]
    assert same_keys(inferred, stored(database, table.name)) == count
    assert inferred.create(database) is False


@pytest.mark.parametrize("name", ["orders", "sensors", "animals", "chat"])
def test_without_types_the_form_of_the_keys_tells_entities_apart(
    name: str, database: hashrange.Database
) -> None:
    table = example(name).table
    source = hashrange.connect()
    fill(table, source)
    table.create(database)
    for raw in stored(source, table.name):
        raw.pop("entityType", None)
        database.execute("PutItem", {"TableName": table.name, "Item": raw})
    found = st.infer(database, table.name)
    inferred = declared(found.text)
    assert inferred.model.type_attribute is None
    wanted = {tuple(sorted(templates(entity).items())) for entity in table.model.entities}
    got = {tuple(sorted(templates(entity).items())) for entity in inferred.model.entities}
    assert got == wanted
    assert same_keys(inferred, stored(database, table.name)) >= found.verified > 0


def test_one_percent_of_foreign_items_is_reported_and_left_out(
    database: hashrange.Database,
) -> None:
    table = example("sensors").table
    count = fill(table, database)
    foreign = max(1, count // 100)
    for number in range(foreign):
        put(database, table.name, pk=f"9f{number}c", sk=f"x{number}", note="written by hand")
    found = st.infer(database, table.name)
    assert (found.verified, found.unmatched) == (count, foreign)
    assert f"{foreign:,} items fit no entity" in found.text
    assert "pk=9f0c, sk=x0" in found.text
    inferred = {entity.name: templates(entity) for entity in declared(found.text).model.entities}
    assert inferred == {entity.name: templates(entity) for entity in table.model.entities}


def test_one_percent_of_foreign_items_without_types(database: hashrange.Database) -> None:
    orders(database, 300)
    for number in range(3):
        put(database, "app", pk=f"{number}f-{number}", sk="-", note="by hand")
    found = st.infer(database, "app")
    assert found.unmatched == 3
    assert {str(e) for e in declared(found.text).model.entities} == {"Cust", "Inv"}


def test_wrong_keys_among_right_ones_are_shown(database: hashrange.Database) -> None:
    orders(database, 300)
    put(database, "app", pk="CUST#77", sk="INV#000001", customerId="78", number={"N": "1"})
    found = st.infer(database, "app")
    text = " ".join(found.text.replace("#", " ").split())
    assert "pk=CUST 77, sk=INV 000001: pk is 'CUST 77', and the model writes 'CUST 78'" in text
    assert found.verified == 330


# ---- tables of other programs ----


def create(database: hashrange.Database, name: str = "app", **more: Any) -> None:
    names = [d["AttributeName"] for d in more.get("AttributeDefinitions", [])]
    definitions = [
        {"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk") if n not in names
    ]
    database.execute(
        "CreateTable",
        {
            "TableName": name,
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
            **more,
            "AttributeDefinitions": definitions + more.get("AttributeDefinitions", []),
        },
    )


def orders(database: hashrange.Database, count: int) -> None:
    """Customers and invoices of another program, without types and with its own names."""
    create(database)
    for n in range(count // 10):
        put(database, "app", pk=f"CUST#{n}", sk="PROFILE", customerId=str(n), name=f"Name {n}")
    for n in range(count):
        key = {"pk": f"CUST#{n % 30}", "sk": f"INV#{n:06d}"}
        put(database, "app", **key, customerId=str(n % 30), number={"N": str(n)})


def test_padded_numbers_and_attributes_with_other_names(database: hashrange.Database) -> None:
    orders(database, 300)
    found = st.infer(database, "app")
    assert (found.verified, found.unmatched) == (330, 0)
    entities = {str(entity): entity for entity in declared(found.text).model.entities}
    assert templates(entities["Cust"]) == {"pk": "CUST#{customer_id}", "sk": "PROFILE"}
    assert templates(entities["Inv"]) == {"pk": "CUST#{customer_id}", "sk": "INV#{number:06d}"}
    assert entities["Inv"].attributes["customer_id"] == "customerId"


@pytest.mark.parametrize(
    ("template", "field", "values"),
    [
        ("n#{v:+06d}", "v: int", [-5, 0, 7, 1234, -99999]),
        ("p#{v:09.2f}", "v: Decimal", [Decimal("1.25"), Decimal("99.5"), Decimal("1000.01")]),
        ("p#{v:+09.2f}", "v: Decimal", [Decimal("-1.25"), Decimal("99.5"), Decimal("0.01")]),
        ("d#{v:%Y-%m}#{id}", "v: date", [date(2024, m, m) for m in range(1, 13)]),
        (
            "t#{v:%Y-%m-%dT%H}#{id}",
            "v: datetime",
            [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=77 * n) for n in range(30)],
        ),
        ("u#{v}", "v: UUID", [UUID(int=2**100 * n + n) for n in range(9)]),
        ("{v}", "v: str", ["a", "b-c", "ü", "x y"]),
        ("a{{b}}#{v}", "v: str", ["a", "b", "c"]),
        ("{v}#{id|shard:10}", "v: int", [*range(60)]),
    ],
)
def test_each_form_of_a_value_in_a_key(
    template: str, field: str, values: list[Any], database: hashrange.Database
) -> None:
    table = model(
        "from uuid import UUID\n"
        f"class A(st.Item):\n    key = st.key('a#{{id}}', '{template}')\n    id: str\n    {field}\n"
        "class P(st.Store, Protocol):\n    pass\n"
        "table = st.Table('app', P, A)\n"
    )
    table.create(database)
    [entity] = table.model.entities
    for number, value in enumerate(values):
        item = entity.model.model_validate({"id": f"i-{number}", "v": value})
        database.execute("PutItem", {"TableName": "app", "Item": table.dump(item)})
    found = st.infer(database, "app")
    assert (found.verified, found.unmatched) == (len(values), 0)
    [inferred] = declared(found.text).model.entities
    assert templates(inferred) == templates(entity)


def test_a_sparse_index_with_a_condition(database: hashrange.Database) -> None:
    table = model(
        "class A(st.Item):\n"
        "    key = st.key('a#{id}', 'info')\n"
        "    open = st.index('GSI1', 'open', 'a#{id}', when='status = :s', s='OPEN')\n"
        "    id: str\n    status: str\n"
        "class P(st.Store, Protocol):\n    pass\n"
        "table = st.Table('app', P, A)\n"
    )
    table.create(database)
    [entity] = table.model.entities
    for n in range(40):
        item = entity.model.model_validate({"id": f"i-{n}", "status": ("OPEN", "DONE")[n % 2]})
        database.execute("PutItem", {"TableName": "app", "Item": table.dump(item)})
    found = st.infer(database, "app")
    assert found.verified == 40
    assert 'when="status = :v", v="OPEN"' in " ".join(found.text.split())


def test_keys_that_no_attribute_explains_are_fields(database: hashrange.Database) -> None:
    create(database)
    for n in range(30):
        put(database, "app", pk=f"{n * 7919 % 1000:x}-{n}", sk=f"z{n}", note="text")
    found = st.infer(database, "app")
    assert found.verified == 30
    [entity] = declared(found.text).model.entities
    assert templates(entity) == {"pk": "{pk}", "sk": "{sk}"}


def test_markers_with_a_namespace_of_their_own_are_reported(database: hashrange.Database) -> None:
    table = model(
        "class A(st.Item):\n"
        "    key = st.key('a#{id}', 'info')\n"
        "    one = st.unique('{email}', namespace='mails')\n"
        "    id: str\n    email: str\n"
        "class P(st.Store, Protocol):\n    pass\n"
        "table = st.Table('app', P, A)\n"
    )
    assert fill(table, database, parents=9) == 9
    found = st.infer(database, "app")
    assert (found.verified, found.unmatched) == (9, 0)
    assert "9 items are markers of unique texts whose template is not known" in " ".join(
        found.text.replace("#", " ").split()
    )


def test_an_empty_table_has_its_keys(database: hashrange.Database) -> None:
    create(database)
    found = st.infer(database, "app")
    assert found.sampled == 0
    assert declared(found.text).model.table.columns == (("pk", "S"), ("sk", "S"))


def test_types_of_attributes(database: hashrange.Database) -> None:
    create(database)
    for n in range(5):
        put(
            database, "app", pk=f"a#{n}", sk="info", id=str(n),
            whole={"N": "1"}, part={"N": "1.5"}, yes={"BOOL": True}, data={"B": "AAA="},
            tags={"SS": ["a", "b"]}, numbers={"NS": ["1"]},
            list={"L": [{"S": "x"}]}, map={"M": {"a": {"N": "1"}}},
            day="2024-10-14", at="2024-10-14T01:01:01.000000Z", other="2024-10-14T01:01:01Z",
            mixed={"S": "x"} if n % 2 else {"N": "1"}, **{"class": "c", "copy": "d"},
        )  # fmt: skip
    put(database, "app", pk="a#9", sk="info", id="9")
    found = st.infer(database, "app")
    text = found.text
    for line in (
        "whole: int | None = None", "part: Decimal | None = None", "yes: bool | None = None",
        "data: bytes | None = None", "tags: set[str] | None = None",
        "numbers: set[int] | None = None", "list_: list[str] | None = Field(default=None, alias=",
        "map: dict[str, int] | None = None", "day: date | None = None",
        "at: datetime | None = None", "other: str | None = None", "mixed: Any = None",
        'class_: str | None = Field(default=None, alias="class")',
        'copy_: str | None = Field(default=None, alias="copy")',
    ):  # fmt: skip
        assert line in text
    assert "mixed is of several types: N, S" in text
    table = declared(text)
    items = stored(database, "app")
    for raw in items:
        item = table.load(raw)
        assert item is not None
        assert table.dump(item) == raw


def test_hostile_names_and_values_stay_data(database: hashrange.Database) -> None:
    create(database, "app")
    evil = '"""\nraise SystemExit  # \\'
    for n in range(4):
        put(database, "app", pk=f"{evil}#{n}", sk=f"{{x}}#{n}", id=str(n), **{evil: evil})
    for n in range(3):
        put(database, "app", pk=f"\u202e{n}", sk="\x00", **{"a-b": "x", "a_b": "y", "A b": "z"})
    found = st.infer(database, "app")
    table = declared(found.text)
    assert same_keys(table, stored(database, "app")) >= found.verified


# ---- reading ----


def test_a_sample_reads_all_parts_and_no_more_than_it_has_to(
    database: hashrange.Database,
) -> None:
    orders(database, 2000)
    reads: list[int] = []
    seen: list[int] = []

    class Counting:
        def execute(self, operation: str, payload: Item) -> Item:
            response: Item = database.execute(operation, payload)
            reads.append(len(response.get("Items", ())))
            return response

    found = st.infer(Counting(), "app", sample=500, rate=10_000, progress=seen.append)
    assert found.sampled == 500
    assert 500 <= sum(reads) < 800
    assert seen[-1] == 500
    assert seen == sorted(seen)
    assert {str(e) for e in declared(found.text).model.entities} == {"Cust", "Inv"}


def test_the_rate_is_kept(database: hashrange.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses, on a clock that stands still, are as long as the units that were read allow."""
    orders(database, 500)
    pauses: list[float] = []
    monkeypatch.setattr("hashrange.design.inference.sampling.time.monotonic", lambda: 0.0)
    monkeypatch.setattr("hashrange.design.inference.sampling.time.sleep", pauses.append)
    st.infer(database, "app", rate=10)
    assert pauses
    units = max(pauses) * 10
    assert 8 <= units <= 60  # half a unit for each segment and page


def test_the_same_table_gives_the_same_model(database: hashrange.Database) -> None:
    orders(database, 500)
    assert st.infer(database, "app").text == st.infer(database, "app").text


def test_a_missing_table_is_reported(database: hashrange.Database) -> None:
    with pytest.raises(st.DesignError, match="no table 'absent'"):
        st.infer(database, "absent")
