"""Random pairs of models within the first version of migrations, written as source and run."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from hashrange import design as st

SOURCE = """
from datetime import datetime
from typing import Protocol
from hashrange import design as st

def doubled(n): return str(2 * n)
def halved(text): return int(text) // 2

class Thing(st.Item):
    key = st.key("thing#{{a}}", "{{b:02d}}")
    by_group = st.index("groups", "group#{{c}}", "{{a}}#{{b:02d}}")
    a: st.Slug
    b: int
    c: st.Slug
    n: int = 0
    t: st.Slug | None = None
    {more}

class Things(st.Store, Protocol):
    def one(self, a: str, b: int) -> Thing | None: ...
    def of(self, a: str) -> st.Query[Thing]: ...
    def group(self, c: str) -> st.Query[Thing]: ...

class {new}(st.Item):
    key = st.key({key})
    {index}
    {replaces}
    a: st.Slug
    b: int
    c: st.Slug
    {n}
    t: st.Slug | None = None
    {more}

class News(st.Store, Protocol):
    def one(self, a: str, b: int) -> {new} | None: ...
    def of(self, a: str) -> st.Query[{new}]: ...
    def group(self, c: str) -> st.Query[{new}]: ...

OLD = st.Table("things", Things, hide_expired=True)
NEW = st.Table("things", News, hide_expired=True)
"""
KEYS = (
    '"g2#{a}", "{b:02d}"',
    '"g2#{a}", "b#{b:02d}#{c}"',
    '"g2#{c}", "{a}#{b:02d}"',
)


@dataclass(frozen=True)
class Models:
    """`value` is the new field that holds twice the old `n` as a text; "n" if it stays `n`."""

    source: str
    old: st.Table
    new: st.Table
    value: str
    unique: bool
    same_identity: bool
    namespace: dict[str, Any]

    def migration(self, **settings: Any) -> st.Migration:
        return st.Migration(self.old, self.new, accept=("one", "of"), **settings)


def random_models(random: Random) -> Models:
    unique, version, retyped = (random.random() < 0.5 for _ in range(3))
    more = []
    if version:
        more.append("v: st.Version = 0")
    if random.random() < 0.3:
        more.append("expires: st.TTL | None = None")
    if unique:
        more.append("s: st.Slug")
        more.append('only = st.unique("s#{s}", namespace="s")')
    key = random.choice((*KEYS, '"thing#{a}", "{b:02d}"'))
    in_place = key.startswith('"thing')
    index = 'by_group = st.index("groups2", "group#{c}", "{a}#{b:02d}")'
    if key == KEYS[2]:
        index += '\n    by_id = st.index("ids", "id#{a}", "{b:02d}")'
    if in_place:
        retyped = False
        index = 'by_group = st.index("groups", "group#{c}", "{a}#{b:02d}")\n    '
        index += 'by_t = st.index("labels", "t#{t}", "{a}#{b:02d}")'
    pair = 'n=st.pair("m", doubled, halved)' if retyped else ""
    source = SOURCE.format(
        more="\n    ".join(more),
        new="Thing2" if not in_place else "Later",
        key=key,
        index=index,
        replaces="" if in_place else f'replaces = st.replaces("Thing", {pair})',
        n='m: str = "0"' if retyped else "n: int = 0",
    )
    if in_place:
        source = source.replace("class Later(st.Item)", 'class Later(st.Item, name="Thing")')
    namespace = _run(source)
    value = "m" if retyped else "n"
    same = "{c}" not in key
    return Models(source, namespace["OLD"], namespace["NEW"], value, unique, same, namespace)


@cache
def _run(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "models"}
    exec(compile(source, "models", "exec", dont_inherit=True), namespace)
    return namespace
