"""Models for the rules about reads of several partitions, and what writes and indexes hold."""

from ..models import BY_X, GET_A, SIZED, A, Pair, indexed, item, patterns

LATEST = "@st.latest\ndef last(self, x: str) -> st.Query[A]: ..."
PREFIX = "def under(self, x: str, {0}: st.Prefix[str]) -> st.Query[A]: ..."
BUCKETS = (
    "@st.buckets(at_most={})\ndef m(self, id: str, at: st.Between[datetime]) -> st.Query[M]: ..."
)
MONTHLY = item("M", "'m#{id}#{at:%Y-%m}', '{at}#{n}'", "id: st.Slug; at: datetime; n: st.Slug")
OTHER = item("B", "'b#{id}', 'info'", "id: st.Slug; {0}: str")
TYPED = item("C", "'c#{id}', 'info'", "id: st.Slug; x: str",
             "i = st.index('idx', 'x#{x}', '{id}', project={})")  # fmt: skip
WRITES = ", writes=[st.writes(A, create=10)]"


def many_indexes(count: int) -> str:
    declared = "; ".join(f"i{n} = st.index('idx{n}', 'x{n}#{{x}}', 'a')" for n in range(count))
    return item("A", "'a#{id}', 'info'", "id: st.Slug; x: st.Slug", declared)


SPREAD: dict[str, Pair] = {
    "A12": (
        indexed("i = st.index('idx', 'x#{x}', '{y}#{at}')", LATEST),
        indexed("i = st.index('idx', 'x#{x}', '{at}#{y}')", LATEST),
    ),
    "C05": (A + patterns(table=WRITES), A + patterns(table=WRITES + SIZED.format(9))),
    "C09": (MONTHLY + patterns(BUCKETS.format(31)), MONTHLY + patterns(BUCKETS.format(30))),
    "C10": (
        item("A", "'a#{id}'", "id: st.Slug; x: st.Slug", "u = st.unique('{x}')")
        + patterns(table=WRITES),
        item("A", "'a#{id}'", "id: st.Slug; x: st.Slug") + patterns(table=WRITES),
    ),
    "C13": (many_indexes(5) + patterns(table=WRITES), many_indexes(4) + patterns(table=WRITES)),
    "I14": (
        indexed("i = st.index('idx', 'a#{id}', '{x}')", GET_A),
        indexed("i = st.index('idx', 'b#{id}', '{x}')", GET_A),
    ),
    "I16": tuple(  # type: ignore[dict-item]
        TYPED.replace("{}", project)
        + TYPED.replace("{}", project).replace("class C", "class D").replace("'c#", "'d#")
        + "class V(st.View[C]):\n    id: st.Slug\n"
        + patterns("def vs(self, x: str) -> st.Query[V]: ...", table=", D")
        for project in ("'KEYS_ONLY'", "'ALL'")
    ),
    "I17": tuple(  # type: ignore[dict-item]
        indexed("i = st.index('idx', ('x',))", BY_X, table=", B").replace(
            "class P", OTHER.replace("{0}", name) + "class P"
        )
        for name in ("x", "z")
    ),
    "K14": tuple(  # type: ignore[dict-item]
        item("A", f"'x#{{x}}', '{{{name}}}'", f"x: st.Slug; {name}: str")
        + patterns(PREFIX.format(name))
        for name in ("path", "title")
    ),
}  # fmt: skip
