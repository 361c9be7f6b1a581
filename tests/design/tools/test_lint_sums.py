"""Hot keys and collections are sums over everything that shares a partition key value."""

import pytest

from hashrange import design as st

from ..models import item, model, patterns

CONFIG = item("A", "'config', 'a#{a}'", "a: st.Slug") + item("B", "'config', 'b#{b}'", "b: st.Slug")
READS = (
    "@st.rate(4000, items=1, size=100)\ndef a(self, a: str) -> A | None: ...",
    "@st.rate(4000, items=1, size=100)\ndef b(self, b: str) -> B | None: ...",
)
SIZES = "volumes=st.volumes(A=st.total(10, size=100), B=st.total(10, size=100))"


def messages(text: str, rule: str) -> list[str]:
    report = st.lint(model(text))
    return [f"{f.where}: {f.message}" for f in report.findings if f.rule == rule]


def test_writes_of_two_entities_under_one_key_add_up() -> None:
    writes = "writes=[st.writes(A, create={0}), st.writes(B, create={0})]"
    hot = CONFIG + patterns(table=f", A, B, {SIZES}, " + writes.format(700))
    [found] = messages(hot, "C01")
    assert found.startswith("A.key: 1,400 write units per second on 'config', of 1,000")
    assert "B.key 700" in found
    assert "2 shards" in "".join(messages(hot, "C07"))
    assert not messages(hot.replace("700", "500"), "C01")


def test_reads_of_two_patterns_of_one_key_add_up() -> None:
    hot = CONFIG + patterns(*READS, table=f", {SIZES}")
    [found] = messages(hot, "C01")
    assert found.startswith("P.a: 4,000 read units per second on 'config', of 3,000")
    assert "P.b 2,000" in found
    assert not messages(hot.replace("4000", "3000"), "C01")


def test_only_the_shared_value_is_hot() -> None:
    """`x#p` has half of the writes of A and all of B; `x#q` only the other half of A's."""
    text = item("A", "'x#{k}', 'a#{a}'", "k: Literal['p', 'q']; a: st.Slug") + item(
        "B", "'x#p', 'b#{b}'", "b: st.Slug"
    )
    writes = "writes=[st.writes(A, create=1000), st.writes(B, create={0})]"
    for rate, hot in ((501, 1), (500, 0)):
        found = messages(
            text + patterns(table=f", A, B, {SIZES}, " + writes.format(rate)), "C01"
        )  # fmt: skip
        assert len(found) == hot, found
        assert all("'x#p'" in one for one in found)


def test_consistent_reads_count_twice() -> None:
    text = CONFIG + patterns("@st.consistent\n" + READS[0], table=f", B, {SIZES}")
    [found] = messages(text, "C01")
    assert "4,000 read units" in found


CHAT = (
    item("U", "'u#{u}', 'info'", "u: st.Slug")
    + item("S", "'s#{s}', 'info'", "s: st.Slug")
    + item(
        "M",
        "'s#{s}', 'm#{u}'",
        "s: st.Slug; u: st.Slug",
        "of_user = st.index('GSI1', 'u#{u}', 's#{s}')",
    )
    + item("R", "'s#{s}', 'r#{r}'", "s: st.Slug; r: st.Slug")
)
MANY = "M=st.each('U', mean=8, max=50, size=100) & st.each('S', mean=9, max={0})"


@pytest.mark.parametrize(("most", "found"), [(1_000_000, ["P.members"]), (1_000, [])])
def test_a_collection_is_as_large_as_the_relation_that_the_pattern_follows(
    most: int, found: list[str]
) -> None:
    text = CHAT + patterns(
        "def members(self, s: str) -> st.Query[M]: ...",
        "def servers(self, u: str) -> st.Query[M]: ...",
        table=f", U, S, R, volumes=st.volumes({MANY.format(most)})",
    )
    assert [line.split(":")[0] for line in messages(text, "A04")] == found


def test_the_members_of_a_union_add_up() -> None:
    text = CHAT + patterns(
        "def all(self, s: str) -> st.Query[M | R]: ...",
        table=", U, S, volumes=st.volumes(" + MANY.format(6_000) + ", "
        "R=st.each('S', mean=1, max={0}, size=100))",
    )
    [found] = messages(text.replace("{0}", "6_000"), "A04")
    assert "6,000 M x 100 bytes + 6,000 R x 100 bytes" in found
    assert not messages(text.replace("{0}", "4_000"), "A04")


def test_a_collection_with_a_local_index_is_the_sum_of_its_entities() -> None:
    text = (
        item("C", "st.attr('c'), st.attr('k')", "c: st.Slug; k: st.Slug")
        + item("A", "st.attr('c'), st.attr('k')", "c: st.Slug; k: st.Slug; y: str",
               "l = st.local('loc', st.attr('y'))")
        + item("B", "st.attr('c'), st.attr('k')", "c: st.Slug; k: st.Slug; z: str")
        + item("P1", "st.attr('c'), st.attr('k')", "c: st.Slug; k: Literal['1'] = '1'")
    )  # fmt: skip
    volumes = (
        "volumes=st.volumes(A=st.each('C', mean=1, max=3_000_000, size=1000), "
        "B=st.each('C', mean=1, max={0}, size=1000))"
    )
    for most, hot in ((5_000_000, True), (4_000_000, False)):
        found = messages(text + patterns(table=f", C, A, B, {volumes.format(most)}"), "I04")
        assert bool(found) is hot
