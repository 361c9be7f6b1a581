"""Models for the rules about indexes."""

from ..models import (
    BY_X,
    GET_A,
    LOCAL,
    ORDER,
    ORDERS,
    SIZED,
    TEN_GB,
    VIEW,
    A,
    Pair,
    indexed,
    item,
    patterns,
)


def searched(
    vector: str, *, partition: str = "", volumes: str = "A=st.total(1)", top: int = 10
) -> str:
    """A model with a search."""
    more = f", partition='{partition}'" if partition else ""
    argument = f"{partition}: str, " if partition else ""
    search = f"def a(self, to: st.VectorLike, {argument}top: int = {top}) -> st.Nearest[A]: ..."
    fields = f"id: st.Slug; x: str = ''; {vector}"
    entity = item("A", "'a#{id}', 'info'", fields, f"i = st.vectors('vec', 'e'{more})")
    return entity + patterns(search, table=f", volumes=st.volumes({volumes})")


INDEXES: dict[str, Pair] = {
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
    "V01": (searched("e: st.Vector(4097)"), searched("e: st.Vector(4096)")),
    "V02": (
        searched("e: st.Vector(1000)", volumes="A=st.total(300_000)"),
        searched("e: st.Vector(1000)", volumes="A=st.total(200_000)"),
    ),
    "V03": (
        searched("e: st.Vector(2)", volumes="A=st.total(9, size=300_000)", top=100),
        searched("e: st.Vector(2)", volumes="A=st.total(9, size=300_000)", top=10),
    ),
    "V04": (
        searched("e: st.Vector(2)", partition="x"),
        searched("e: st.Vector(2)"),
    ),
}
