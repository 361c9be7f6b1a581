"""The models that the tests of exports use."""

import sys
from types import ModuleType

from hashrange import design as st

from ..models import A, item, model, patterns
from ..test_examples import example

EXAMPLES = ("organisations", "orders", "sensors", "animals", "chat", "repositories", "tasks")


def tables(name: str) -> list[st.Table]:
    """The tables of an example."""
    return [value for value in vars(example(name)).values() if isinstance(value, st.Table)]


def with_indexes(*names: str, fields: str = "x: st.Slug; y: st.Slug = ''", **keys: str) -> st.Table:
    """An entity A with these indexes over x, or over `keys[name]`."""
    declared = "\n    ".join(
        f"i{n} = st.index({name!r}, st.attr({keys.get(name, 'x')!r}))"
        for n, name in enumerate(names)
    )
    text = item("A", "'a#{id}', 'info'", f"id: st.Slug; {fields}", declared)
    return model(text + patterns())


def rich() -> st.Table:
    """Keys of several attributes, all kinds of indexes and projections, a TTL, and a stream."""
    text = item(
        "A",
        "st.attr('id'), st.attr('at')",
        "id: st.Slug; at: int; x: st.Slug; y: int; z: str | None = None; "
        "ends: st.TTL | None = None; data: bytes",
        "many = st.index('many', ('x', 'y'), ('z', 'at'))\n"
        "    some = st.index('some', st.attr('data'), project=['z', 'y'])\n"
        "    keys = st.index('keys', st.attr('y'), st.attr('x'), project='KEYS_ONLY')\n"
        "    order = st.local('order', st.attr('y'))",
    )
    return model(text + patterns(table=", stream=True, recovery=True, backups=7"))


def two_tables() -> list[st.Table]:
    return [model(A + patterns()), rich()]


def imported(source: str) -> list[st.Table]:
    """The tables that a written module declares; it has to run."""
    module = sys.modules["an_imported_model"] = ModuleType("an_imported_model")
    exec(source, vars(module))
    return [value for value in vars(module).values() if isinstance(value, st.Table)]
