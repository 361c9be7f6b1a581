"""The JSON Schema of a model describes exactly the items that the model writes."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Protocol
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from hashrange import design as st
from hashrange.design.exchange.export import export
from hashrange.design.tools.sample_items import sample_items
from hashrange.model.values import AttributeValue, Item

from ..test_examples import EXAMPLES, example

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Size(Enum):
    SMALL = 1
    LARGE = 2


class Address(BaseModel):
    city: Annotated[str, Field(min_length=2)]
    code: str | None = Field(default=None, alias="postCode")


class Parcel(st.Item, shape=2):
    key = st.key("p.{parcel_id}", "{number:04d}")
    by_size = st.index("GSI1", "sent#{number:04d}", "{sent}")
    heavy = st.index("GSI2", "heavy", "{number:04d}", when="weight > :w", w=5)

    parcel_id: UUID
    number: int
    size: Size
    weight: Annotated[Decimal, Field(ge=0, le=100)]
    sent: datetime | None = None
    address: Address
    tags: set[str] = Field(default_factory=set)
    codes: frozenset[bytes] | None = None
    notes: dict[str, list[int | None]] = Field(default_factory=dict)
    photo: bytes = b""
    gone: bool = False
    expires: st.TTL | None = None
    place: st.Vector(2) | None = None  # type: ignore[valid-type]

    @staticmethod
    @st.upgrade(from_version=1)
    def _two(values: dict[str, Any]) -> dict[str, Any]:
        return values


class Parcels(st.Store, Protocol):
    def parcel(self, parcel_id: UUID, number: int) -> Parcel | None: ...


table = st.Table("parcels", Parcels)
FULL = Parcel(
    parcel_id=UUID(int=1), number=7, size=Size.LARGE, weight=Decimal("1.50"),
    sent=datetime(2026, 1, 2, tzinfo=UTC), address=Address(city="Ulm", postCode="89073"),
    tags={"a"}, codes=frozenset({b"x"}), notes={"n": [1, None]}, photo=b"\x00\xff", gone=True,
    expires=datetime(2030, 1, 1, tzinfo=UTC), place=[1.0, 0.5],
)  # fmt: skip


def plain(value: AttributeValue) -> Any:
    """As document clients show it."""
    [(tag, content)] = value.items()
    if tag == "N":
        return int(content) if content.lstrip("-").isdigit() else float(content)
    if tag == "NS":
        return [plain({"N": one}) for one in content]
    if tag == "L":
        return [plain(one) for one in content]
    if tag == "M":
        return document(content)
    return None if tag == "NULL" else content


def document(item: Item) -> dict[str, Any]:
    return {name: plain(value) for name, value in item.items()}


def faults(value: Any, schema: Any, whole: Any, at: str = "") -> Iterator[str]:
    """The keywords that a value violates: a checker of those keywords that schemas here have."""
    if "$ref" in schema:
        yield from faults(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], whole, at)
    if "anyOf" in schema and all(any(faults(value, s, whole)) for s in schema["anyOf"]):
        yield f"{at} anyOf"
    kind = schema.get("type")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "integer":
        fits = isinstance(value, int) and number
    else:
        fits = number if kind == "number" else kind is None or isinstance(value, TYPES[kind])
    checks: dict[str, Callable[[Any], object]] = {
        "type": lambda _: fits,
        "const": lambda one: value == one,
        "enum": lambda some: value in some,
        "pattern": lambda text: re.search(text, value),
        "minLength": lambda least: len(value) >= least,
        "maxLength": lambda most: len(value) <= most,
        "minItems": lambda least: len(value) >= least,
        "maxItems": lambda most: len(value) <= most,
        "minimum": lambda least: value >= least,
        "maximum": lambda most: value <= most,
        "required": lambda names: not {*names} - {*value},
    }
    if not fits:
        yield f"{at} type"
        return
    yield from (f"{at} {n}" for n, holds in checks.items() if n in schema and not holds(schema[n]))
    members = schema.get("properties", {})
    for name, one in value.items() if isinstance(value, dict) else ():
        other = schema.get("additionalProperties", {})
        inner = members.get(name, other if isinstance(other, dict) else {})
        yield from faults(one, inner, whole, f"{at}.{name}")
    for one in value if isinstance(value, list) and "items" in schema else ():
        yield from faults(one, schema["items"], whole, f"{at}[]")


def schema_of(*tables: st.Table) -> Any:
    return json.loads(export(tables, "jsonschema").text)


MODELS = sorted(path.stem for path in EXAMPLES.glob("*.py") if "st.Table(" in path.read_text())


@pytest.mark.parametrize("name", MODELS)
def test_items_of_the_examples_fit_their_schema(name: str) -> None:
    for one in [v for v in vars(example(name)).values() if isinstance(v, st.Table)]:
        schema = schema_of(one)
        for item in sample_items(one):
            entity = one.model.by_model[type(one.load(item))]  # type: ignore[index]
            definition = schema["$defs"][f"{one.name}.{entity}"]
            assert not list(faults(document(item), definition, schema)), item
            assert not list(faults(document(item), schema, schema))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, None),
        ({"sent": None, "codes": None, "expires": None, "place": None, "tags": None}, None),
        ({"other": {"S": "of another program"}}, None),
        ({"weight": None}, "required"),
        ({"pk": None}, "required"),
        ({"GSI1PK": None, "GSI1SK": None}, None),
        ({"pk": {"S": "pX1"}}, ".pk pattern"),
        ({"weight": {"S": "1.5"}}, ".weight type"),
        ({"weight": {"N": "101"}}, ".weight maximum"),
        ({"size": {"N": "3"}}, ".size enum"),
        ({"sent": {"NULL": True}}, ".sent type"),
        ({"expires": {"S": "2030-01-01"}}, ".expires type"),
        ({"place": {"L": [{"N": "1"}]}}, ".place minItems"),
        ({"address": {"M": {"city": {"S": "U"}}}}, ".address.city minLength"),
        ({"address": {"M": {}}}, ".address required"),
        ({"notes": {"M": {"n": {"L": [{"S": "1"}]}}}}, ".notes.n[] anyOf"),
        ({"tags": {"L": [{"N": "1"}]}}, ".tags[] type"),
        ({"entityType": {"S": "Other"}}, ".entityType const"),
    ],
)
def test_what_the_model_does_not_write_is_refused(
    changes: dict[str, AttributeValue | None], fault: str | None
) -> None:
    schema = schema_of(table)
    assert schema["$schema"].endswith("2020-12/schema")
    changed = {**table.dump(FULL), **changes}
    item = document({n: v for n, v in changed.items() if v is not None})
    found = list(faults(item, schema["$defs"]["parcels.Parcel"], schema))
    assert found == [] if fault is None else fault in [one.strip() for one in found], found
