"""Models for the rules about patterns, size and relations."""

from ..models import GET_A, ORDER, ORDERS, SIZED, A, Pair, indexed, item, owner_and_copies, patterns

PATTERNS: dict[str, Pair] = {
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
        + item("O", "'c#{c}#{day}', 'o#{o}'", "c: st.Slug; day: date; o: st.Slug")
        + patterns("def o(self, c: str, day: date) -> st.Query[O]: ...", table=", C"),
        item("C", "'c#{c}', 'info'", "c: st.Slug") + ORDER + patterns(ORDERS, table=", C"),
    ),
    "R05": (
        indexed("i = st.index('idx', 'x#{x}', 'a#{id}')", "def one(self, x: str) -> A | None: ..."),
        indexed(
            "i = st.index('idx', 'x#{x}', 'a#{id}'); u = st.unique('{x}')",
            "def one(self, x: str) -> A | None: ...",
        ),
    ),
    "R07": (
        A
        + item("B", "'b#{b}', 'i'", "b: st.Slug; y: str", "u = st.unique('{y}', namespace='n')")
        + item("C", "'c#{c}', 'i'", "c: st.Slug; y: str", "u = st.unique('y{y}', namespace='n')")
        + patterns(GET_A, table=", B, C"),
        A
        + item("B", "'b#{b}', 'i'", "b: st.Slug; y: str", "u = st.unique('{y}', namespace='n')")
        + item("C", "'c#{c}', 'i'", "c: st.Slug; z: str", "u = st.unique('{z}', namespace='n')")
        + patterns(GET_A, table=", B, C"),
    ),
    "R08": tuple(  # type: ignore[dict-item]
        item("C", "st.attr('c'), 'info'", "c: st.Slug")
        + item("O", "st.attr('c'), 'o#{o}'", f"c: {c}; o: st.Slug")
        + patterns(ORDERS, table=", C")
        for c in ("st.Slug", "Annotated[st.Slug, st.ref(C)]")
    ),
    "R06": (
        item("A", "'a#{id}', 'i'", "id: st.Slug; tenant_id: st.Slug") + patterns(GET_A),
        item("A", "'t#{tenant_id}#a#{id}', 'i'", "id: st.Slug; tenant_id: st.Slug") + patterns(),
    ),
}
