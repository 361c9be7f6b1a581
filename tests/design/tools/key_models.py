"""Models for the rules about keys."""

from ..models import BY_X, GET_A, ORDER, ORDERS, A, Pair, indexed, item, patterns

KEYS: dict[str, Pair] = {
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
            "o: Annotated[str, st.ref(O)]",
            ", O",
        ),
        ORDER
        + indexed(
            "i = st.index('GSI1', 'c#{c}#o#{o}', 'a#{id}')",
            "def by_o(self, c: str, o: str) -> st.Query[A]: ...",
            "c: str; o: Annotated[str, st.ref(O)]",
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
    "K20": (
        item("A", "'a#{id}', '{d:%Y-%m}#{n:04d}'", "id: st.Slug; d: date; n: int")
        + patterns("def a(self, id: str, d: date) -> st.Query[A]: ..."),
        item("A", "'a#{id}', '{d:%Y-%m}#{n:04d}'", "id: st.Slug; d: date; n: int")
        + patterns("def a(self, id: str, d: st.Month) -> st.Query[A]: ..."),
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
}
