"""A mistake in a model is a DeclarationError that says where it is and what to do."""

from datetime import date, datetime
from typing import Any, Protocol

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.plan.plans import Unplanned

from ..models import GET_A, A, item, model, patterns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (item("A", "'a#{idd}'", "id: str"), "did you mean 'id'"),
        (item("A", "'a#{id', 'x'", "id: str"), "expected '}'"),
        (item("A", "'a#{id|shards:3}', 'x'", "id: str"), "shard:10"),
        (item("A", "'a#{id:06d}', 'x'", "id: str"), "does not fit str"),
        (item("A", "'a#{n:6}', 'x'", "n: int"), "'06d'"),
        (item("A", "'a#{id}', 'x'", "id: str | None = None"), "cannot be None"),
        (item("A", "'a#{id}', 'x'", "id: str; f: float = 0"), "use Decimal"),
        (item("A", "'a#{id}', 'x'", "id: str; f: object = None"), "cannot be stored"),
        (item("A", "'a#{id}', 'x'", "id: str; pk: str"), "st.Table(keys=...)"),
        (item("A", "'a#{id}', 'x'", "id: str; copy: str"), "Field(alias='copy')"),
        (item("A", "'a#{id}', 'x'", "id: str; key: str"), "rename"),
        (item("A", "'a#{id}'", "id: str", "i = st.index('idx', 'x#{id}', when='s = :s', s=1)"),
         "'s' is not a field"),
        (item("A", "'a#{id}'", "id: str", "i = st.index('idx', 'x#{id}', when='id = :s', s=1)"),
         "stored as S, but :s as N"),
        (item("A", "'a#{id}'", "id: str", "i = st.index('idx', 'x#{id}', when='id == :s', s='')"),
         "id =="),
        (item("A", "'a#{id}', 'x'", "id: str", "i = st.index('idx', 'x#{id}', project=('idd',))"),
         "did you mean 'id'"),
        (item("A", "'a#{id}', 'x'", "id: str", "i = st.index('idx', 'x#{id}', project='KEYS')"),
         "did you mean 'KEYS_ONLY'"),
        (A + item("B", "'b#{id}', 'x'", "id: str; x: str = st.copy(A, 'x', sync='transact')"),
         "did you mean 'transaction'"),
        (item("A", "'a#{id}', 'x'", "id: str; s: str; t: str = Field('', alias='s')"),
         "'s' and 't' are both stored as 's'"),
        (item("A", "'a#{id}', 'x'", "id: str; v: st.Version"), "write `v: st.Version = 0`"),
        (item("A", "'a#{id}', 'x'", "id: str; m: list[dict[int, str]]"), "use dict[str, ...]"),
        (item("A", "['id'], 'x'", "id: str"), "['id'] is not a key: write a template"),
        (item("A", "'a#{id}', 'x'", "id: str; b: Annotated[str, st.ref('AA')]"),
         "AA is not an entity of 'app' (did you mean 'A'?)"),
        (item("B", "'b#{b}', 'x'", "b: str; x: str = st.copy('A', 'x', sync='batch')"),
         "st.copy('A', 'x') needs the owner's class"),
        (A + item("B", "'b#{b}', 'x'", "b: str; x: str = st.copy(A, 'x', sync='batch')"),
         "its owner is found by id, so it needs the field 'id'"),
        (A + item("B", "'b#{id}', 'x'", "id: str; x: int = st.copy(A, 'x', sync='batch')"),
         "x is stored as N, but A.x as S"),
    ],
)  # fmt: skip
def test_items(text: str, message: str) -> None:
    with pytest.raises(st.DeclarationError) as refused:
        model(text + patterns(of=text[text.rindex("class ") + 6]))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("def put(self, id: str) -> A | None: ...", "name of a store's method"),
        ("def a(self, idd: str) -> A | None: ...", "did you mean 'id'"),
        ("def a(self, id: int) -> A | None: ...", "'id' is int, but the field 'id' is str"),
        ("def a(self, id) -> A | None: ...", "has no type"),
        ("def a(self, id: str) -> A: ...", "`X | None`"),
        ("def a(self, id: str) -> st.AsyncQuery[A]: ...", "must return st.Query"),
        ("async def a(self, id: str) -> A | None: ...", "written with `def`"),
        ("def a(self, id: str) -> int: ...", "@st.counts"),
        ("def a(self, id: str) -> str | None: ...", "not an st.Item"),
        ("def a(self, id: str = 'x') -> A | None: ...", "default can only be None"),
        ("@st.where('y = :y')\ndef a(self, id: str, y: str) -> st.Query[A]: ...", "'y' is not a"),
        ("@st.where('x = :z')\ndef a(self, id: str, y: str) -> st.Query[A]: ...", "no value for"),
        (
            "@st.where('x = :y')\ndef a(self, id: str, y: int) -> st.Query[A]: ...",
            "as S, but :y as N",
        ),
        ("@st.using('idx')\ndef a(self, id: str) -> A | None: ...", "needs the index itself"),
        ("@st.using(A.key)\ndef a(self, id: str) -> A | None: ...", "needs the index itself"),
        ("@st.through('A')\ndef a(self, id: str) -> st.Query[A]: ...", "needs the class of an"),
        ("@st.counts('A')\ndef a(self, id: str) -> int: ...", "needs the class of an entity"),
        (
            "@st.rate(-1)\ndef a(self, id: str) -> A | None: ...",
            "@st.rate: rate must be at least 0",
        ),
        ("@st.scan_ok('why')\ndef a(self, x: str) -> st.Query[A]: ...", '@st.where("x = :x")'),
    ],
)
def test_patterns(pattern: str, message: str) -> None:
    with pytest.raises(st.DeclarationError) as refused:
        model(A + patterns(pattern))
    assert message in str(refused.value)


def test_a_view_has_the_types_of_its_entity() -> None:
    view = "class V(st.View[A]):\n    x: int\n"
    with pytest.raises(st.DeclarationError, match="V: the view reads x as N, but A stores it as S"):
        model(A + view + patterns("def a(self, id: str) -> V | None: ..."))


TWO = A + item("B", "'b#{b}', 'x'", "b: str")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("volumes=st.volumes(A=-1)", "A: a number and a size must be at least 0"),
        ("volumes=st.volumes(B=st.each(A, mean=3, max=2))", "max=2: the mean must be from 0"),
        ("volumes=st.volumes(A=st.each(B, mean=1, max=2), B=st.each(A, mean=1, max=2))",
         "A of B of A: these numbers depend on each other"),
        ("writes=[st.writes(A, create=-1)]", "writes(A): a rate must be at least 0"),
        ("index_keys={'GSI': ('p', 's')}", "index_keys: GSI is not an index"),
    ],
)  # fmt: skip
def test_tables(argument: str, message: str) -> None:
    with pytest.raises(st.DeclarationError) as refused:
        model(TWO + patterns(GET_A, table=f", B, {argument}"))
    assert message in str(refused.value)


def test_a_pattern_by_type_takes_no_other_argument() -> None:
    variable = "from typing import TypeVar\nT = TypeVar('T', bound=st.Item)\n"
    pattern = "def all_of(self, entity: type[T], x: str) -> st.Query[T]: ..."
    with pytest.raises(st.DeclarationError, match="'x' has no effect"):
        model(variable + A + patterns(pattern, GET_A, table=", by_type='GSI1'"))


def test_patterns_are_a_protocol_of_a_store() -> None:
    text = A + patterns(GET_A)
    for bases, message in (("st.Store", "add typing.Protocol"), ("Protocol", "needs st.Store")):
        with pytest.raises(st.DeclarationError, match=message):
            model(text.replace("class P(st.Store, Protocol)", f"class P({bases})"))


def test_an_argument_that_the_key_needs_cannot_be_left_out() -> None:
    table = model(A + patterns("def a(self, id: str | None = None) -> st.Query[A]: ..."))
    plan = table.plans["P.a"]
    assert isinstance(plan, Unplanned)
    assert "without id: Base table: no argument gives id for the key pk" in str(plan.error)


def test_a_table_is_of_protocols_and_entities() -> None:
    for other in (int, "Sensors", None):
        with pytest.raises(
            st.DeclarationError, match=r"needs st\.Store or st\.AsyncStore as a base"
        ):
            st.Table("sensors", other)


def test_a_view_has_only_fields_of_its_entity() -> None:
    with pytest.raises(st.DeclarationError, match="did you mean 'id'"):
        model(A + "class V(st.View[A]):\n    idd: str\n" + patterns())


def test_volumes_and_writes_name_what_exists() -> None:
    with pytest.raises(st.DeclarationError, match="B is not an entity"):
        model(A + patterns(table=", volumes=st.volumes(B=1)"))
    with pytest.raises(st.DeclarationError, match="no field 'y'"):
        model(A + patterns(table=", writes=[st.writes(A, edit=('y',))]"))
    with pytest.raises(st.DeclarationError, match="reason"):
        st.ignore("K05", "A", reason=" ")


class Sensor(st.Item):
    key = st.key("sensor#{sensor_id}#{on}", "{number:03d}")

    sensor_id: str
    on: date
    number: int
    at: datetime | None = None


class Sensors(st.Store, Protocol):
    def sensors(self, sensor_id: str, on: date) -> st.Query[Sensor]: ...


table = st.Table("sensors", Sensors)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"number": 1000}, "must be from 0 to 999"),
        ({"number": -1}, "must be from 0 to 999"),
        ({"sensor_id": ""}, "empty text"),
        ({"at": datetime(2024, 1, 1)}, "no time zone"),
    ],
)
def test_bad_values_fail_before_anything_is_sent(values: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"sensor_id": "s", "on": date(2024, 1, 1), "number": 1}
    with pytest.raises(st.BadValue, match=message):
        table.dump(Sensor(**(good | values)))


def test_only_a_fitting_connection_is_taken(database: hashrange.Database) -> None:
    client = database.boto3_session().client("dynamodb")
    resource = database.boto3_session().resource("dynamodb")
    table.open(Sensors, client)
    with pytest.raises(TypeError, match="client\\("):
        table.open(Sensors, resource)
    with pytest.raises(TypeError, match="neither"):
        table.open(Sensors, object())


def test_the_name_of_an_unknown_rule_or_protocol_is_told(database: hashrange.Database) -> None:
    class Stranger(st.Store, Protocol): ...

    with pytest.raises(st.DeclarationError, match="Stranger"):
        table.open(Stranger, database)


def test_an_index_has_one_projection() -> None:
    one = item(
        "A", "'a#{a}', 'i'", "a: st.Slug", "i = st.index('GSI1', 'g#{a}', 'a', project='KEYS_ONLY')"
    )
    other = item("B", "'b#{b}', 'i'", "b: st.Slug", "i = st.index('GSI1', 'g#{b}', 'b')")
    with pytest.raises(st.DeclarationError, match="projects ALL here, but KEYS_ONLY in another"):
        model(one + other + patterns(table=", B"))
