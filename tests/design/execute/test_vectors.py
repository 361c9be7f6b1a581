"""Vectors as fields, their indexes, and searches."""

import array
import asyncio
import math
import random
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Protocol, cast

import pytest
from planting import bug_in
from pydantic import ValidationError

import hashrange
from hashrange import design as st
from hashrange.design.exchange import iam
from hashrange.design.exchange.export import export

from ..models import GET_A, item, model, patterns

ALIKE = [0.0, 1.0, 0.1]


class Document(st.Item):
    key = st.key("document#{document_id}", "info")
    by_meaning = st.vectors("by_meaning", "embedding", partition="tenant", filters=["kind"])

    document_id: str
    tenant: str | None = None
    kind: str | None = None
    embedding: st.Vector(3)  # type: ignore[valid-type]


class Note(st.Item):
    """Its vectors are in the same index."""

    key = st.key("note#{note_id}", "info")

    note_id: str
    tenant: str | None = None
    embedding: Annotated[tuple[float, ...], st.Vector(3)] | None = None


class DocumentName(st.View[Document]):
    document_id: str


class Documents(st.Store, Protocol):
    def document(self, document_id: str) -> Document | None: ...

    def similar(
        self, to: st.VectorLike, tenant: str, kind: str | None = None, top: int = 10
    ) -> st.Nearest[Document]: ...

    def names(self, to: st.VectorLike, tenant: str, top: int) -> st.Nearest[DocumentName]: ...

    def both(
        self, to: st.VectorLike, tenant: str, top: int = 10
    ) -> st.Nearest[Document | Note]: ...


TABLE = st.Table("documents", Documents, Note)


@pytest.fixture
def store() -> Iterator[Documents]:
    database = hashrange.connect()
    assert TABLE.create(database)
    assert not TABLE.create(database)
    store = TABLE.open(cast(Any, Documents), database)
    for number in range(4):
        store.put(
            Document(
                document_id=str(number),
                tenant="t",
                kind="ab"[number % 2],
                embedding=[number, 1, 0.1],
            )
        )
    store.put(Document(document_id="other", tenant="u", embedding=ALIKE))
    store.put(Note(note_id="n", tenant="t", embedding=cast(Any, ALIKE)))
    store.put(Note(note_id="without"))
    yield store
    database.close()


def ids(found: st.Nearest[Document]) -> list[str]:
    return [match.item.document_id for match in found]


def test_the_nearest_items_come_first_with_their_scores(store: Documents) -> None:
    found = store.similar(ALIKE, "t", top=2)
    assert ids(found) == ["0", "1"]
    assert found[0].score == pytest.approx(0, abs=1e-7)
    assert found[1].score == pytest.approx(1 - 1.01 / math.sqrt(1.01 * 2.01))
    assert found.items[0] == store.document("0")
    assert len(found) == 2


class DocumentsLater(st.AsyncStore, Protocol):
    async def similar(
        self, to: st.VectorLike, tenant: str, kind: str | None = None, top: int = 10
    ) -> st.Nearest[Document]: ...


def test_a_search_can_be_awaited() -> None:
    table = st.Table("documents", DocumentsLater)

    async def found(database: hashrange.Database) -> list[str]:
        store = table.open(cast(Any, DocumentsLater), database)
        await store.put(Document(document_id="a", tenant="t", embedding=ALIKE))
        return ids(await store.similar(ALIKE, "t"))

    with hashrange.connect() as database:
        table.create(database)
        assert asyncio.run(found(database)) == ["a"]


def test_a_search_through_boto3_is_the_same() -> None:
    with hashrange.connect() as database:
        client = database.boto3_session().client("dynamodb", region_name="us-east-1")
        TABLE.create(client)
        store = TABLE.open(cast(Any, Documents), client)
        store.put(Document(document_id="a", tenant="t", kind="k", embedding=ALIKE))
        assert store.similar(ALIKE, "t", "k")[0].item == store.document("a")


def test_a_filter_can_be_left_out_and_a_partition_cannot(store: Documents) -> None:
    assert ids(store.similar(ALIKE, "t")) == ["0", "1", "2", "3"]
    assert ids(store.similar(ALIKE, "t", "b")) == ["1", "3"]
    assert ids(store.similar(ALIKE, tenant="u")) == ["other"]
    with pytest.raises(TypeError, match="'tenant' is missing"):
        cast(Any, store).similar(ALIKE)
    with pytest.raises(TypeError, match="'top' is missing"):
        cast(Any, store).names(ALIKE, "t")


def test_other_entities_do_not_take_places(store: Documents) -> None:
    assert [match.item.document_id for match in store.names(ALIKE, "t", 1)] == ["0"]
    assert {type(match.item) for match in store.both(ALIKE, "t", 2)} == {Document, Note}


@pytest.mark.parametrize(
    "make", [list, tuple, lambda n: array.array("f", n), lambda n: map(float, n)]
)
def test_a_vector_is_made_from_any_sequence(
    store: Documents, make: Callable[[list[float]], Any]
) -> None:
    item = Document(document_id="x", tenant="x", embedding=make(ALIKE))
    assert store.put(item) == store.document("x")
    assert ids(store.similar(make(ALIKE), "x")) == ["x"]


def test_a_vector_is_made_from_a_numpy_array(store: Documents) -> None:
    numpy = pytest.importorskip("numpy")
    for kind in ("f2", "f4", "f8", "i8"):
        vector = numpy.array([3, 2, 1], dtype=kind)
        store.put(Document(document_id=kind, tenant=kind, embedding=vector))
        assert ids(store.similar(vector, kind)) == [kind]


def test_the_fewest_digits_of_32_bit_numbers_are_stored() -> None:
    chance = random.Random(1)
    for _ in range(200):
        numbers = [chance.uniform(-2, 2) * 10 ** chance.randint(-30, 30) for _ in range(3)]
        item = Document(document_id="x", embedding=numbers)
        stored = TABLE.dump(item)
        for element in stored["embedding"]["L"]:
            assert len(element["N"].lstrip("-").replace(".", "").strip("0")) <= 9
        assert TABLE.load(stored) == item
    stored = TABLE.dump(Document(document_id="x", embedding=[0.1, 1 / 3, 2]))
    assert [e["N"] for e in stored["embedding"]["L"]] == ["0.1", "0.33333334", "2"]


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1, 2], "it has 2 numbers"),
        ([1] * 100_000, "more than 3 numbers"),
        (iter(int, 1), "more than 3 numbers"),
        ([math.nan, 1, 2], "contain NaN"),
        ([math.inf, 1, 2], "cannot contain NaN or infinity"),
        ([1e39, 1, 2], "fit in 32 bits"),
        (["1", 1, 2], "sequence of numbers"),
        ("123", "sequence of numbers"),
        (b"123", "sequence of numbers"),
        ({1: 1, 2: 2, 3: 3}, "sequence of numbers"),
        ([[1], [2], [3]], "sequence of numbers"),
        ([10**400, 1, 2], "sequence of numbers"),
        (7, "sequence of numbers"),
    ],
)
def test_other_vectors_are_refused(store: Documents, vector: Any, message: str) -> None:
    with pytest.raises(st.BadValue, match=message):
        store.similar(vector, "t")
    if not hasattr(vector, "__next__"):
        with pytest.raises(ValidationError, match=message):
            Document(document_id="x", embedding=vector)


@pytest.mark.parametrize("top", [0, 101, True, 2.0])
def test_top_is_1_to_100(store: Documents, top: Any) -> None:
    with pytest.raises(st.BadValue, match="1 to 100"):
        store.similar(ALIKE, "t", top=top)


def test_the_plan_names_the_filters_and_the_number() -> None:
    row = TABLE.plan().rows[1]
    assert (row.source, row.operation, row.hash) == (
        "vector index by_meaning",
        "SearchVectors",
        "tenant=`{tenant}`",
    )
    assert row.other == "filter kind=`{kind}` entityType=`Document` TopK=`{top}` by cosine"


def test_create_names_the_differences_of_a_vector_index() -> None:
    class Other(st.Item):
        key = st.key("document#{document_id}", "info")
        by_meaning = st.vectors("by_meaning", "embedding", distance="euclidean")

        document_id: str
        embedding: st.Vector(4)  # type: ignore[valid-type]

    database = hashrange.connect()
    st.Table("documents", Other).create(database)
    with pytest.raises(st.DesignError) as caught:
        TABLE.create(database)
    for text in (
        "its Dimensions is 4, not 3",
        "its DistanceFunction is EUCLIDEAN, not COSINE",
        "its SearchSchema is [], not ['entityType (INLINE_FILTER)',",
    ):
        assert text in str(caught.value)
    database.close()


@pytest.mark.parametrize("distance", ["cosine", "euclidean", "dot_product"])
@pytest.mark.parametrize("project", ["'ALL'", "'KEYS_ONLY'", "('y',)"])
def test_the_answers_are_those_of_brute_force(distance: str, project: str) -> None:
    fields = "id: st.Slug; x: str; y: st.Slug = ''; e: st.Vector(5) | None = None"
    index = f"i = st.vectors('vec', 'e', partition='x', filters=['y'], distance='{distance}', "
    view = "class V(st.View[A]):\n    id: st.Slug\n    y: st.Slug\n"
    search = "def a(self, to: st.VectorLike, x: str, y: str | None = None, top: int = 3)"
    result = "A" if project == "'ALL'" else "V"
    table = model(
        item("A", "'a#{id}', 'info'", fields, f"{index}project={project})")
        + view
        + patterns(f"{search} -> st.Nearest[{result}]: ...")
    )
    proof = st.prove(table, hashrange.connect())
    assert not proof.failed, str(proof)
    assert proof.asked["P.a"] > 20


def test_prove_finds_a_search_that_is_wrong() -> None:
    from hashrange.engine.vectors.distances import Query

    with bug_in(Query, "scores", lambda _, packed: [0.5] * len(packed)):
        proof = st.prove(TABLE, hashrange.connect())
    assert "Documents.similar" in str(proof.differences)


INDEX = "i = st.vectors('vec', 'e'"
FIELDS = "id: st.Slug; x: str = ''; e: st.Vector(2)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (item("A", "'a#{id}', 'info'", "id: str; e: st.Vector(4097)"), "1 to 4096"),
        (item("A", "'a#{id}', 'info'", "id: str; e: list[st.Vector(2)]"), "not a part of a field"),
        (item("A", "'a#{id}', 'info'", FIELDS, "i = st.vectors('vec', 'x')"), "not a vector"),
        (item("A", "'a#{id}', 'info'", FIELDS, "i = st.vectors('vec', 'f')"), "not a field"),
        (item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX}, filters=['e'])"), "compare S, N and B"),
        (item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX}, filters=['x', 'x'])"), "twice"),
        (item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX}, distance='cosin')"), "cosine"),
        (item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX}, project='SOME')"), "KEYS_ONLY"),
        (
            item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX})")
            + item("B", "'b#{id}', 'info'", "id: str; e: st.Vector(3)"),
            "vector of 2 dimensions",
        ),
        (
            item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX}, filters=['x'])")
            + item("B", "'b#{id}', 'info'", "id: str; x: int"),
            "compares x as S",
        ),
    ],
)
def test_indexes_that_cannot_work_are_refused(text: str, message: str) -> None:
    more = ", B" if "class B" in text else ""
    with pytest.raises(st.DeclarationError, match=message):
        model(text + f"class P(st.Store, Protocol):\n    pass\ntable = st.Table('app', P, A{more})")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("def a(self, top: int) -> st.Nearest[A]: ...", "st.VectorLike"),
        ("def a(self, to: st.VectorLike) -> st.Nearest[A]: ...", "top: int"),
        ("def a(self, to: st.VectorLike, top: int = None) -> st.Nearest[A]: ...", "be a number"),
        (
            "@st.consistent\ndef a(self, to: st.VectorLike, top: int) -> st.Nearest[A]: ...",
            "no effect on a search",
        ),
    ],
)
def test_patterns_that_are_no_search_are_refused(method: str, message: str) -> None:
    with pytest.raises(st.DeclarationError, match=message):
        model(item("A", "'a#{id}', 'info'", FIELDS, f"{INDEX})") + patterns(method))


@pytest.mark.parametrize(
    ("index", "arguments", "reason"),
    [
        (")", "x: str", "neither the partition nor a filter"),
        (", partition='x')", "", "needs an argument for x"),
        (", partition='x')", "x: str | None = None", "needs an argument for x"),
        (", filters=['x'])", "x: st.Prefix[str]", "only compares for equality"),
        (", project='KEYS_ONLY')", "", "does not project x"),
    ],
)
def test_a_search_that_nothing_serves_says_why(index: str, arguments: str, reason: str) -> None:
    search = f"def a(self, to: st.VectorLike, {arguments}, top: int = 3) -> st.Nearest[A]: ..."
    search = search.replace(", ,", ",")
    table = model(item("A", "'a#{id}', 'info'", FIELDS, INDEX + index) + patterns(search))
    assert reason in table.unserved[0].reason


def test_a_pattern_says_which_of_several_indexes_it_searches() -> None:
    two = "i = st.vectors('vec', 'e'); j = st.vectors('dot', 'e', distance='dot_product')"
    search = "def a(self, to: st.VectorLike, top: int = 3) -> st.Nearest[A]: ..."
    text = item("A", "'a#{id}', 'info'", FIELDS, two)
    assert "@st.using" in model(text + patterns(search)).unserved[0].reason
    table = model(text + patterns("@st.using(A.j)\n" + search))
    assert table.plan().rows[0].source == "vector index dot"


def test_a_diff_names_vector_indexes() -> None:
    fields = "id: st.Slug; e: st.Vector(2)"
    old = model(item("A", "'a#{id}', 'info'", fields, f"{INDEX})") + patterns(GET_A))
    other = INDEX.replace("'vec'", "'two'")
    both = f"{INDEX}, distance='euclidean'); j{other[1:]})"
    new = model(item("A", "'a#{id}', 'info'", fields, both) + patterns(GET_A))
    changes = [(one.where, one.text) for one in st.diff(old, new).changes]
    assert changes == [
        ("vector index vec", "its key or projection changes: it is dropped and created again"),
        ("vector index two", "DynamoDB builds it, in a separate UpdateTable"),
    ]
    assert "it is dropped" in str(st.diff(new, old))
    assert not st.diff(new, new).changes


def test_every_export_has_the_index_or_says_that_it_has_not() -> None:
    for to in ("cloudformation", "terraform", "nosql-workbench", "json"):
        exported = export(TABLE, to)
        assert "by_meaning" in exported.text + " ".join(exported.warnings), to


TENANTS = model(
    item(
        "A",
        "'a#{tenant}', 'a#{id}'",
        "tenant: st.Slug; id: st.Slug; e: st.Vector(2)",
        "i = st.vectors('vec', 'e', partition='tenant')",
    )
    + patterns(
        "def a(self, tenant: str, id: str) -> A | None: ...",
        "def b(self, to: st.VectorLike, tenant: str, top: int = 3) -> st.Nearest[A]: ...",
    )
)


def test_a_policy_of_a_tenant_leaves_searches_out() -> None:
    exported = iam.export([TENANTS], "tenant")
    assert "SearchVectors" not in exported.text
    assert any("cannot restrict a search" in line for line in exported.warnings)
    assert "SearchVectors" in iam.export([TENANTS]).text


def test_the_cost_counts_an_indexed_vector_in_32_bits() -> None:
    search = "def a(self, to: st.VectorLike, top: int = 3) -> st.Nearest[A]: ..."
    table = model(
        item(
            "A", "'a#{id}', 'info'", "id: st.Slug; e: st.Vector(500)", "i = st.vectors('vec', 'e')"
        )
        + patterns(
            GET_A,
            search,
            table=", writes=[st.writes(A, create=1)], volumes=st.volumes(A=st.total(10))",
        )
    )
    one = next(i for i in st.sample(table))
    exact = one.replace(e=[1 / 3] * 500)
    cost = st.cost(table, examples=[exact])
    assert cost.line("create A").write_units == 2  # 2,000 bytes, not the 6,000 of its digits
    assert "bytes of vector search" in str(cost)
    assert st.draw(table)
