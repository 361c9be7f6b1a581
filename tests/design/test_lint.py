"""Each rule: a model that triggers it, and one that only just does not."""

import sys
import textwrap
from types import ModuleType
from typing import Any

import pytest

from hashrange import design as st
from hashrange.design.rules import RULES

from .test_examples import example

PRELUDE = """
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, Protocol
from pydantic import Field
from hashrange import design as st
"""


def model(text: str) -> st.Table:
    """The table of a model whose entities and patterns are written without their usual frame."""
    module = sys.modules["a_model"] = ModuleType("a_model")
    namespace: dict[str, Any] = vars(module)
    exec(PRELUDE + textwrap.dedent(text), namespace)
    table = namespace["table"]
    assert isinstance(table, st.Table)
    return table


def item(name: str, key: str, fields: str, more: str = "") -> str:
    lines = "\n".join(f"    {field.strip()}" for field in fields.split(";"))
    return f"class {name}(st.Item):\n    key = st.key({key})\n    {more or 'pass'}\n{lines}\n"


def patterns(*methods: str, table: str = "", of: str = "A") -> str:
    """Without methods, the table has at least the entity `of`."""
    body = "\n".join(f"    {line}" for method in methods for line in method.split("\n"))
    return (
        f"class P(st.Store, Protocol):\n{body or '    pass'}\n"
        f"table = st.Table('app', P{'' if methods else f', {of}'}{table})\n"
    )


A = item("A", "'a#{id}', 'info'", "id: st.Slug; x: str = ''")
GET_A = "def a(self, id: str) -> A | None: ..."
ORDER = item("O", "'c#{c}', 'o#{o}'", "c: st.Slug; o: st.Slug; s: str = ''")
ORDERS = "def orders(self, c: str) -> st.Query[O]: ..."


def owner_and_copies(sync: str, most: int, other: str = "") -> str:
    copies = item(
        "C",
        "'c#{cid}', 'info'",
        f"cid: st.Slug; id: st.Slug; x: str = st.copy(A, 'x', sync='{sync}')",
        "of = st.index('GSI1', 'a#{id}', 'c#{cid}')",
    )
    volumes = f"st.volumes(C=st.each(A, mean={most}, max={most}){other})"
    reads = "def cs(self, id: str) -> st.Query[C]: ..."
    return A + copies + patterns(GET_A, reads, table=f", volumes={volumes}")


def indexed(index: str, pattern: str, fields: str = "", table: str = "") -> str:
    every = "id: st.Slug; x: str; y: str; n: int = 0; at: datetime | None = None"
    return item("A", "'a#{id}', 'info'", f"{every}; {fields}" if fields else every, index) + (
        patterns(GET_A, pattern, table=table)
    )


BY_X = "def by_x(self, x: str) -> st.Query[A]: ..."
SIZED = ", volumes=st.volumes(A=st.total(10, size={}))"
TEN_GB = item(
    "A",
    "st.attr('p'), st.attr('id')",
    "p: str; id: str; x: str",
    "l = st.local('loc', st.attr('x'))",
)
LOCAL = "def local(self, p: str, x: st.AtLeast[str]) -> st.Query[A]: ..."
VIEW = "class V(st.View[A]):\n    id: str\n    x: str\n"

CASES: dict[str, tuple[str, str]] = {
    "K01": (
        item("A", "'a#{idd}', 'info'", "id: str") + patterns(),
        A + patterns(GET_A),
    ),
    "K02": (
        item("A", "'a#{id}', 'info'", "id: str = Field(max_length=512)") + patterns(GET_A),
        item("A", "'a#{id}', 'info'", "id: str = Field(max_length=511)") + patterns(GET_A),
    ),
    "K03": (
        A
        + item("B", "'a#{id}', '{k}'", "id: st.Slug; k: str")
        + patterns("def all(self, id: str) -> st.Query[A | B]: ..."),
        A
        + item("B", "'a#{id}', 'b#{k}'", "id: st.Slug; k: str")
        + patterns("def all(self, id: str) -> st.Query[A | B]: ..."),
    ),
    "K04": (
        item("A", "'a#{id}', '{at:%Y-%m-%dT%H:%M:%S}'", "id: st.Slug; at: datetime")
        + patterns("def a(self, id: str) -> st.Query[A]: ..."),
        item("A", "'a#{id}', '{at:%Y-%m-%dT%H:%M:%S}#{n}'", "id: st.Slug; at: datetime; n: st.Slug")
        + patterns("def a(self, id: str) -> st.Query[A]: ..."),
    ),
    "K05": (
        ORDER
        + item("R", "'c#{c}', 'o#{o}#r#{r}'", "c: st.Slug; o: st.Slug; r: st.Slug")
        + patterns(ORDERS, table=", R"),
        ORDER
        + item("R", "'c#{c}', 'o@{o}@r#{r}'", "c: st.Slug; o: st.Slug; r: st.Slug")
        + patterns(ORDERS, table=", R"),
    ),
    "K06": (
        item("A", "'a#{id}', 'n{n}{m}'", "id: st.Slug; n: st.Slug; m: st.Slug") + patterns(),
        item("A", "'a#{id}', 'n{n:04d}{m}'", "id: st.Slug; n: int; m: st.Slug") + patterns(),
    ),
    "K07": (
        item("F", "'b#{b}', 'f#{f}'", "b: st.Slug; f: str")
        + item("R", "'b#{b}', 'f#{f}#r#{r}'", "b: st.Slug; f: st.Slug; r: st.Slug")
        + patterns("def all(self, b: str) -> st.Query[F | R]: ..."),
        item("F", "'b#{b}', 'f#{f}'", "b: st.Slug; f: st.Slug")
        + item("R", "'b#{b}', 'f#{f}#r#{r}'", "b: st.Slug; f: st.Slug; r: st.Slug")
        + patterns("def all(self, b: str) -> st.Query[F | R]: ..."),
    ),
    "K08": (
        item("A", "'a#{id}', 'n#{n}'", "id: st.Slug; n: int") + patterns(),
        item("A", "'a#{id}', 'n#{n:06d}'", "id: st.Slug; n: int") + patterns(),
    ),
    "K09": (
        item("A", "'a#{id}', '{d:%d.%m.%Y}'", "id: st.Slug; d: date") + patterns(),
        item("A", "'a#{id}', '{d:%Y.%m.%d}'", "id: st.Slug; d: date") + patterns(),
    ),
    "K10": (
        item("A", "st.attr('p'), st.attr('n')", "p: str; n: int")
        + item("B", "st.attr('p'), st.attr('n')", "p: str; n: int; z: str")
        + patterns("def a(self, p: str, n: st.AtLeast[int]) -> st.Query[A]: ...", table=", B"),
        item("A", "st.attr('p'), st.attr('n')", "p: str; n: int")
        + patterns("def a(self, p: str, n: st.AtLeast[int]) -> st.Query[A]: ..."),
    ),
    "K11": (
        ORDER + patterns("def o(self, c: str, o: st.Between[str]) -> st.Query[O]: ..."),
        ORDER + patterns("def o(self, c: str, o: st.After[str]) -> st.Query[O]: ..."),
    ),
    "K12": (
        A + item("B", "'A#{id}', 'b'", "id: st.Slug") + patterns(GET_A, table=", B"),
        A + item("B", "'b#{id}', 'b'", "id: st.Slug") + patterns(GET_A, table=", B"),
    ),
    "K13": (
        item(
            "O",
            "'c#{c}', 'o#{o}'",
            "c: st.Slug; o: st.Slug",
            "i = st.index('idx', 'o#{o}', 'c#{c}')",
        )
        + patterns(
            "def o(self, o: str) -> st.Query[O]: ...", table=", index_keys={'idx': ('sk', 'pk')}"
        ),
        item(
            "O",
            "'c#{c}', 'o#{o}'",
            "c: st.Slug; o: st.Slug",
            "i = st.index('idx', 'o#{o}', 'c#{c}')",
        )
        + patterns("def o(self, o: str) -> st.Query[O]: ..."),
    ),
    "K15": (
        ORDER + patterns(ORDERS, table=", writes=[st.writes(O, edit=('o',), rate=1)]"),
        ORDER + patterns(ORDERS, table=", writes=[st.writes(O, edit=('s',), rate=1)]"),
    ),
    "K16": (
        ORDER
        + indexed(
            "i = st.index('GSI1', 'o#{o}', 'a#{id}')",
            "def by_o(self, o: str) -> st.Query[A]: ...",
            "o: str",
            ", O",
        ),
        ORDER
        + indexed(
            "i = st.index('GSI1', 'c#{c}#o#{o}', 'a#{id}')",
            "def by_o(self, c: str, o: str) -> st.Query[A]: ...",
            "c: str; o: str",
            ", O",
        ),
    ),
    "K17": (
        A + item("B", "'{b}', 'b'", "b: str") + patterns(GET_A, table=", B"),
        item("B", "'{b}', 'b'", "b: str") + patterns(of="B"),
    ),
    "K18": (
        item("A", "st.attr('id')", "id: str")
        + item("B", "st.attr('id')", "id: int")
        + patterns(table=", A, B"),
        item("A", "st.attr('id')", "id: str")
        + item("B", "st.attr('id')", "id: str")
        + patterns(table=", A, B"),
    ),
    "K19": (
        indexed("i = st.index('GSI1', 'x#{x}', 'a#{id}')", BY_X)
        .replace(
            "class P",
            item(
                "B",
                "'b#{id}', 'b'",
                "id: st.Slug; x: str",
                "i = st.index('GSI1', 'x#{x}', 'b#{id}')",
            )
            + "class P",
        )
        .replace("'app', P", "'app', P, B"),
        indexed("i = st.index('GSI1', 'x#{x}', 'a#{id}')", BY_X)
        .replace(
            "class P",
            item(
                "B",
                "'b#{id}', 'b'",
                "id: st.Slug; x: str",
                "i = st.index('GSI1', 'x#{x}', 'b#{id}')",
            )
            + "class P",
        )
        .replace("Query[A]", "Query[A | B]"),
    ),
    "I01": (
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug",
            "; ".join(f"i{n} = st.index('idx{n}', 'x#{{id}}')" for n in range(21)),
        )
        + patterns(),
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug",
            "; ".join(f"i{n} = st.index('idx{n}', 'x#{{id}}')" for n in range(20)),
        )
        + patterns(),
    ),
    "I02": (
        TEN_GB + patterns(LOCAL),
        TEN_GB.replace("st.local('loc', st", "st.index('loc', st.attr('p'), st") + patterns(LOCAL),
    ),
    "I03": (
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug; " + "; ".join(f"f{n}: str = ''" for n in range(51)),
            "P = tuple(f'f{n}' for n in range(51)); i = st.index('idx', 'x#{id}', project=P); "
            "j = st.index('jdx', 'y#{id}', project=P)",
        )
        .replace("P = ", "_P = ")
        .replace("=P)", "=_P)")
        + patterns(),
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug; " + "; ".join(f"f{n}: str = ''" for n in range(50)),
            "P = tuple(f'f{n}' for n in range(50)); i = st.index('idx', 'x#{id}', project=P); "
            "j = st.index('jdx', 'y#{id}', project=P)",
        )
        .replace("P = ", "_P = ")
        .replace("=P)", "=_P)")
        + patterns(),
    ),
    "I04": tuple(  # type: ignore[dict-item]
        item(
            "B",
            "st.attr('id'), st.attr('x')",
            "id: str; x: str; y: str",
            "l = st.local('loc', st.attr('y'))",
        )
        + item("O", "st.attr('id'), st.attr('x')", "id: str; x: str")
        + patterns(
            of="B", table=f", O, volumes=st.volumes(B=st.each(O, mean=1, max={most}, size=1000))"
        )
        for most in (6_000_000, 5_000_000)
    ),
    "I05": (
        TEN_GB + patterns(LOCAL, table=SIZED.format(210_000)),
        TEN_GB + patterns(LOCAL, table=SIZED.format(200_000)),
    ),
    "I06": (
        indexed("i = st.index('idx', ('x', 'y', 'n', 'id', 'z'))", BY_X, "z: str"),
        indexed(
            "i = st.index('idx', ('x', 'y', 'n', 'id'))", GET_A.replace("def a", "def b"), "z: str"
        ),
    ),
    "I07": (
        indexed(
            "i = st.index('idx', 'x#{x}#{y}', 'a#{id}')",
            "def by(self, x: str, y: str) -> st.Query[A]: ...",
        ),
        indexed(
            "i = st.index('idx', ('x', 'y'), st.attr('id'))",
            "def by(self, x: str, y: str) -> st.Query[A]: ...",
        ),
    ),
    "I08": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", GET_A.replace("def a", "def b")),
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", BY_X),
    ),
    "I09": (
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug",
            "; ".join(f"i{n} = st.index('idx{n}', 'x#{{id}}')" for n in range(11)),
        )
        + patterns(),
        item(
            "A",
            "'a#{id}', 'info'",
            "id: st.Slug",
            "; ".join(f"i{n} = st.index('idx{n}', 'x#{{id}}')" for n in range(10)),
        )
        + patterns(),
    ),
    "I10": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", BY_X, table=SIZED.format(1025)),
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", BY_X, table=SIZED.format(1024)),
    ),
    "I11": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}', project='KEYS_ONLY')", BY_X),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}', project='KEYS_ONLY')",
            BY_X.replace("Query[A]", "Query[V]"),
        ).replace("class P", VIEW + "class P"),
    ),
    "I12": (
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}')",
            BY_X.replace("[A]", "[V]"),
            table=SIZED.format(5000),
        ).replace("class P", VIEW + "class P"),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}')",
            BY_X.replace("[A]", "[V]"),
            table=SIZED.format(900),
        ).replace("class P", VIEW + "class P"),
    ),
    "I13": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", "@st.consistent\n" + BY_X),
        ORDER + patterns("@st.consistent\n" + ORDERS),
    ),
    "I15": (
        indexed(
            "i = st.index('idx', 'k#{k}', 'a#{id}')",
            "def by(self, k: str) -> st.Query[A]: ...",
            "k: Literal['p', 'q']",
        ),
        indexed(
            "i = st.index('idx', 'k#{k}#{id|shard:50}', 'a#{id}')",
            "def by(self, k: str) -> st.Query[A]: ...",
            "k: Literal['p', 'q']",
        ),
    ),
    "I18": tuple(  # type: ignore[dict-item]
        ORDER
        + patterns(
            f"@st.rate(1, items={items})\n@st.where('s = :s')\n"
            "def o(self, c: str, s: str) -> st.Query[O]: ...",
            table=", A, volumes=st.volumes(O=st.each('A', mean=100, max=200))",
        ).replace("class P", A + "class P")
        for items in (9, 10)
    ),
    "I19": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", BY_X),
        indexed("i = st.index('idx', 'x#{x}', 'y#{y}')", BY_X),
    ),
    "I20": (
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}')",
            BY_X,
            table=", writes=[st.writes(A, edit=('x',), rate=1)]",
        ),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}')",
            BY_X,
            table=", writes=[st.writes(A, edit=('y',), rate=1)]",
        ),
    ),
    "I21": (
        indexed("i = st.index('idx', 'x#{x}', '{at}')", BY_X),
        indexed("i = st.index('idx', 'x#{x}', '{at}')", "@st.using(A.i)\n" + BY_X),
    ),
    "I22": (
        TEN_GB.replace("st.attr('x'))", "st.attr('x'), project=('p',))") + patterns(),
        TEN_GB.replace("st.attr('x'))", "st.attr('x'), project=('x',))") + patterns(),
    ),
    "A01": (
        A + patterns("def by_x(self, x: str) -> st.Query[A]: ..."),
        A + patterns("@st.scan_ok('nightly')\ndef by_x(self) -> st.Query[A]: ..."),
    ),
    "A02": (
        ORDER + patterns("@st.where('s = :s')\ndef o(self, c: str, s: str) -> st.Query[O]: ..."),
        ORDER + patterns(ORDERS),
    ),
    "A03": (
        ORDER + patterns("@st.rate(1, items=1025, size=1024)\n" + ORDERS),
        ORDER + patterns("@st.rate(1, items=1024, size=1024)\n" + ORDERS),
    ),
    "A04": tuple(  # type: ignore[dict-item]
        ORDER
        + A
        + patterns(
            ORDERS, table=f", A, volumes=st.volumes(O=st.each('A', mean=1, max={most}, size=1024))"
        )
        for most in (1025, 1024)
    ),
    "A05": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", "def one(self, x: str) -> A | None: ..."),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}'); u = st.unique('{x}')",
            "def one(self, x: str) -> A | None: ...",
        ),
    ),
    "A06": (
        item(
            "M", "'m#{id}#{at:%Y-%m-%d}', '{at:%H:%M}#{n}'", "id: st.Slug; at: datetime; n: st.Slug"
        )
        + patterns("@st.latest\ndef m(self, id: str, at: st.Day) -> M | None: ..."),
        item("M", "'m#{id}', '{at}#{n}'", "id: st.Slug; at: datetime; n: st.Slug")
        + patterns("@st.latest\ndef m(self, id: str) -> M | None: ..."),
    ),
    "A07": (
        item("M", "'m#{id}#{at:%Y-%m-%d}', '{n}'", "id: st.Slug; at: datetime; n: st.Slug")
        + patterns(of="M"),
        item("M", "'m#{id}', '{at}#{n}'", "id: st.Slug; at: datetime; n: st.Slug")
        + patterns(of="M"),
    ),
    "A08": tuple(  # type: ignore[dict-item]
        A
        + item("M", "'u#{u}', 'a#{id}'", "u: st.Slug; id: st.Slug")
        + item("U", "'u#{u}', 'info'", "u: st.Slug")
        + patterns(
            "@st.through(M)\ndef mine(self, u: str) -> st.Query[A]: ...",
            table=f", U, volumes=st.volumes(M=st.each('U', mean=1, max={most}))",
        )
        for most in (101, 100)
    ),
    "A09": (
        ORDER
        + item("L", "'c#{c}', 'p#{o}'", "c: st.Slug; o: st.Slug")
        + item("M", "'c#{c}', 'm#{o}'", "c: st.Slug; o: st.Slug")
        + patterns("def all(self, c: str) -> st.Query[O | L]: ...", table=", M"),
        ORDER
        + item("L", "'c#{c}', 'p#{o}'", "c: st.Slug; o: st.Slug")
        + item("M", "'m#{c}', 'm#{o}'", "c: st.Slug; o: st.Slug")
        + patterns("def all(self, c: str) -> st.Query[O | L]: ...", table=", M"),
    ),
    "A10": (
        A + patterns("@st.rate(1)\n" + GET_A),
        A + patterns("@st.rate(1)\n" + GET_A, table=", writes=[st.writes(A, create=1)]"),
    ),
    "A11": (A + patterns("@st.consistent\n" + GET_A), A + patterns(GET_A)),
    "A13": (
        item("A", "'a#{id}', 'x#{x}#{y}'", "id: st.Slug; x: str; y: str")
        + patterns("def a(self, id: str, x: st.AtLeast[str]) -> st.Query[A]: ..."),
        item("A", "'a#{id}', 'x#{x}'", "id: st.Slug; x: str")
        + patterns("def a(self, id: str, x: st.AtLeast[str]) -> st.Query[A]: ..."),
    ),
    "C01": tuple(  # type: ignore[dict-item]
        indexed(
            "i = st.index('idx', 'all', 'a#{id}')",
            GET_A.replace("def a", "def b"),
            table=SIZED.format(1024) + f", writes=[st.writes(A, create={rate})]",
        )
        for rate in (1001, 1000)
    ),
    "C02": (
        A + patterns(GET_A, table=SIZED.format(204_800)),
        A + patterns(GET_A, table=SIZED.format(204_799)),
    ),
    "C03": (
        item("A", "'a#{id}', 'i'", "id: st.Slug; xs: list[str] = []") + patterns(GET_A),
        item("A", "'a#{id}', 'i'", "id: st.Slug; xs: list[str] = Field([], max_length=9)")
        + patterns(GET_A),
    ),
    "C04": (
        A
        + patterns(
            GET_A, table=SIZED.format(10_240) + ", writes=[st.writes(A, edit=('x',), rate=1)]"
        ),
        A
        + patterns(
            GET_A, table=SIZED.format(10_239) + ", writes=[st.writes(A, edit=('x',), rate=1)]"
        ),
    ),
    "C06": (owner_and_copies("transaction", 100), owner_and_copies("transaction", 99)),
    "C07": (
        indexed(
            "i = st.index('idx', 'x#{id|shard:4}', '{y}')", "def all(self) -> st.Query[A]: ..."
        ),
        indexed("i = st.index('idx', 'x', '{y}')", "def all(self) -> st.Query[A]: ..."),
    ),
    "C08": tuple(  # type: ignore[dict-item]
        item("A", "'a#{id}', 'i'", "id: st.Slug; a_rather_long_name_of_an_attribute: bool = True")
        + patterns(GET_A, table=f", volumes=st.volumes(A=st.total({count}, size=60))")
        for count in (1_000_000, 999_999)
    ),
    "C11": (
        item("A", "'a#{id}', 'i'", "id: st.Slug; ttl: int = 0") + patterns(GET_A),
        item("A", "'a#{id}', 'i'", "id: st.Slug; ttl: st.TTL | None = None") + patterns(GET_A),
    ),
    "C12": (
        item("A", "'d#{d}', '{id}'", "id: st.Slug; d: date") + patterns(),
        item("A", "'d#{d}#{id|shard:4}', '{id}'", "id: st.Slug; d: date") + patterns(),
    ),
    "C14": (
        item("A", "'all', '{id}'", "id: st.Slug") + patterns(),
        item("A", "'all#{id|shard:100}', '{id}'", "id: st.Slug") + patterns(),
    ),
    "R01": (owner_and_copies("batch", 101), owner_and_copies("batch", 100)),
    "R02": (
        A
        + item(
            "C",
            "'c#{cid}', 'i'",
            "cid: st.Slug; id: st.Slug; x: str = st.copy(A, 'x', sync='batch')",
        )
        + patterns(GET_A, table=", C"),
        owner_and_copies("batch", 1),
    ),
    "R03": (
        owner_and_copies("batch", 50, " & st.each('A', mean=1, max=1)")
        .replace("each('A'", "each('B'")
        .replace("class P", item("B", "'b#{b}', 'i'", "b: st.Slug") + "class P")
        .replace("'app', P", "'app', P, B"),
        owner_and_copies("batch", 10, " & st.each('A', mean=1, max=1)")
        .replace("each('A'", "each('B'")
        .replace("class P", item("B", "'b#{b}', 'i'", "b: st.Slug") + "class P")
        .replace("'app', P", "'app', P, B"),
    ),
    "R04": (
        item("C", "'c#{c}', 'info'", "c: st.Slug")
        + ORDER
        + patterns("def o(self, c: str, o: str) -> O | None: ...", table=", C"),
        item("C", "'c#{c}', 'info'", "c: st.Slug") + ORDER + patterns(ORDERS, table=", C"),
    ),
    "R05": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", "def one(self, x: str) -> A | None: ..."),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}'); u = st.unique('{x}')",
            "def one(self, x: str) -> A | None: ...",
        ),
    ),
    "R06": (
        item("A", "'a#{id}', 'i'", "id: st.Slug; tenant_id: st.Slug") + patterns(GET_A),
        item("A", "'t#{tenant_id}#a#{id}', 'i'", "id: st.Slug; tenant_id: st.Slug") + patterns(),
    ),
}


def rules_of(text: str) -> set[str]:
    try:
        return {finding.rule for finding in st.lint(model(text)).findings}
    except st.DeclarationError as error:
        return {error.rule}


@pytest.mark.parametrize("rule", CASES)
def test_rule(rule: str) -> None:
    trigger, near_miss = CASES[rule]
    assert rule in rules_of(trigger)
    assert rule not in rules_of(near_miss)


def test_every_rule_has_its_pair_of_models() -> None:
    cannot_be_written = {"I14"}
    assert set(CASES) | cannot_be_written == set(RULES)


@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("organisations.organisations", set()),
        ("organisations.projects", {"I02 LSI by_update"}),
        ("orders.table", {"C07 Shop.unfulfilled", "I15 Order.unfulfilled"}),
        (
            "sensors.table",
            {
                "A06 Sensors.latest",
                "A07 Measurement",
                "I10 GSI 4",
                "I15 GSI 4",
                "K04 Measurement",
                "K16 Sensor.in_room",
                "K16 Sensor.on_floor",
            },
        ),
        (
            "animals.table",
            {
                "I15 Address.by_place",
                "I15 Cat.by_birthday",
                "I15 Cat.by_tree",
                "I15 Dog.by_birthday",
                "I15 Dog.by_command",
                "I15 Parrot.by_words",
                "K11 Animals.parrots_between",
                "K19 GSI index1",
                "K19 GSI index2",
            },
        ),
        ("chat.table", {"K19 GSI gs1"}),
    ],
)
def test_the_examples_have_exactly_these_findings(name: str, findings: set[str]) -> None:
    module, attribute = name.split(".")
    report = st.lint(getattr(example(module), attribute))
    assert {f"{f.rule} {f.where}" for f in report.findings} == findings
    assert not report.failed


def test_a_finding_is_accepted_for_a_reason() -> None:
    text = A + patterns("@st.consistent\n" + GET_A)
    ignored = text.replace("P)", "P, ignore=[st.ignore('A11', 'P.a', reason='read after write')])")
    report = st.lint(model(ignored))
    assert [f.rule for f in report.findings] == []
    assert [(f.rule, reason) for f, reason in report.ignored] == [("A11", "read after write")]
    with pytest.raises(st.DeclarationError, match="found nothing at"):
        st.lint(model(ignored.replace("'P.a'", "'P.b'")))
    with pytest.raises(st.DeclarationError, match="no rule"):
        st.lint(model(ignored.replace("'A11'", "'A99'")))


def test_what_was_not_declared_is_counted_as_not_checked() -> None:
    report = st.lint(model(A + patterns(GET_A)))
    assert ("C02", "size of A") in report.unchecked
    assert "rules not checked" in str(report)


def test_explain() -> None:
    assert st.explain("k05").startswith("K05 (warning): a pattern's prefix")
    with pytest.raises(KeyError, match="K05"):
        st.explain("K055")
