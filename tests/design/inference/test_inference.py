"""Models that are inferred from the items of tables have the keys of the models that wrote them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import hashrange
from hashrange import design as st

from ..models import model
from ..test_examples import example
from .tables import create, declared, fill, orders, put, same_keys, stored, templates

Item = dict[str, Any]
SEEDS = [
    ("organisations", "organisations"),
    ("organisations", "projects"),
    ("orders", "table"),
    ("sensors", "table"),
    ("animals", "table"),
    ("chat", "table"),
    ("tasks", "table"),
]


# ---- the tables of the seeds ----


@pytest.mark.parametrize(("name", "attribute"), SEEDS)
@pytest.mark.deep
def test_the_examples_have_the_same_keys(
    name: str, attribute: str, database: hashrange.Database
) -> None:
    table = getattr(example(name), attribute)
    count = fill(table, database)
    found = st.infer(database, table.name)
    assert (found.verified, found.unmatched) == (count, 0)
    assert found.verified + found.markers == found.sampled
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


@pytest.mark.deep
@pytest.mark.parametrize(
    "name",
    ["orders", "sensors", "animals", "chat", pytest.param("repositories", marks=pytest.mark.deep)],
)
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
    assert "pk=CUST 77, sk=INV 000001: pk is 'CUST 77', but the model writes 'CUST 78'" in text
    assert found.verified == 330


# ---- tables of other programs ----


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


def test_types_with_the_names_of_other_things(database: hashrange.Database) -> None:
    table = model(
        "".join(
            f"class A{n}(st.Item, name={name!r}):\n    key = st.key('a{n}#{{id}}', 'x')\n"
            "    id: st.Slug\n"
            for n, name in enumerate(("T", "date", "Literal", "Store", "list", "a b", "1"))
        )
        + "class P(st.Store, Protocol):\n    pass\n"
        "table = st.Table('app', P, A0, A1, A2, A3, A4, A5, A6, by_type='GSI1')\n"
    )
    count = fill(table, database, parents=5)
    found = st.infer(database, "app")
    assert found.verified == count == 35
    assert {e.name for e in declared(found.text).model.entities} == {
        *("T", "date", "Literal", "Store", "list", "a b", "1"),
    }


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


def test_a_template_can_have_fields_that_are_key_attributes_of_an_index(
    database: hashrange.Database,
) -> None:
    table = model("""
class Device(st.Item):
    key = st.key("fleet#{fleet}", "device#{device}")
    of_version = st.index("GSI1", ("fleet", "version"), "device#{device}")
    by_region = st.index("GSI2", st.attr("region"), st.attr("device"))
    fleet: st.Slug
    device: st.Slug
    version: st.Slug
    region: st.Slug


class P(st.Store, Protocol):
    def devices(self, fleet: str) -> st.Query[Device]: ...


table = st.Table("fleet", P)
""")
    count = fill(table, database)
    found = st.infer(database, "fleet")
    assert (found.verified, found.unmatched) == (count, 0)
    [written], [inferred] = table.model.entities, declared(found.text).model.entities
    assert templates(inferred) == templates(written)
