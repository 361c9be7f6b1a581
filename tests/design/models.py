"""Short notation for models, for tests that need many of them."""

import sys
import textwrap
from types import ModuleType
from typing import Any

from hashrange import design as st

PRELUDE = """
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Literal, Protocol
from pydantic import Field
from hashrange import design as st
"""
Pair = tuple[str, str]
"""A model that triggers a rule, and a similar one that does not."""


def model(text: str) -> st.Table:
    """The table of a model in short notation."""
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
