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
    assert found.startswith("A.key: 1,400 write units per second on 'config', which allows 1,000")
    assert "B.key 700" in found
    assert "2 shards" in "".join(messages(hot, "C07"))
    assert not messages(hot.replace("700", "500"), "C01")


def test_reads_of_two_patterns_of_one_key_add_up() -> None:
    hot = CONFIG + patterns(*READS, table=f", {SIZES}")
    [found] = messages(hot, "C01")
    assert found.startswith("P.a: 4,000 read units per second on 'config', which allows 3,000")
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


FLEET = (
    item("F", "'f#{f}', 'info'", "f: st.Slug")
    + item("D", "'d#{f}#{d}', 'info'", "f: st.Slug; d: st.Slug")
    + item("R", "'f#{f}', 'r#{at}#{d}'", "f: st.Slug; d: st.Slug; at: datetime",
           "by_month = st.index('GSI1', 'm#{f}#{at:%Y-%m}#{d|shard:2}', '{at}#{d}')")
)  # fmt: skip
FLEETS = (
    ", F, D, volumes=st.volumes(F=st.total(5, size=100), D=st.each(F, mean=10, max=10, size=100), "
    "R=st.each(F, mean=1000, max={0}, size=100)), writes=[st.writes(R, create={1})]"
)
READ_FLEET = "@st.rate({0}, items=1, size=100)\ndef of(self, f: str) -> st.Query[R]: ..."


def test_declared_numbers_of_parents_bound_the_number_of_keys() -> None:
    def found(most: int, creates: int, reads: int = 0) -> list[str]:
        text = FLEET + patterns(READ_FLEET.format(reads), table=FLEETS.format(most, creates))
        return messages(text, "C01")

    assert found(1000, 5000, 30_000) == []
    each = "R.key: 1,001 write units per second on each of 5 'f#{f}', which allows 1,000"
    assert found(1000, 5005) == [each]
    assert found(1000, 0, 30_001) == [
        "P.of: 3,000 read units per second on each of 5 'f#{f}', which allows 3,000"
    ]
    month = "on each of 10 'm#{f}#{at:%Y-%m}#{d|shard:2}'"  # all of one moment, in two shards
    assert [month in one for one in found(1000, 10_001)] == [True, False]


def test_the_largest_parent_is_hot_before_the_others_are() -> None:
    text = FLEET + patterns(READ_FLEET.format(1), table=FLEETS.format(4000, 2000))
    [(severity, message)] = [
        (f.severity, f.message) for f in st.lint(model(text)).findings if f.rule == "C01"
    ]
    assert severity == "warning"
    start = "if traffic is in proportion to the number of items, there are 1,600 write units per "
    assert message.startswith(start + "second on the key with the most items, 'f#{f}'")


def test_a_pattern_across_parents_does_not_read_the_number_of_each_parent() -> None:
    text = item("F", "'f#{f}', 'info'", "f: st.Slug") + item(
        "D",
        "'f#{f}', 'd#{d}'",
        "f: st.Slug; d: st.Slug; kind: st.Slug",
        "of_kind = st.index('GSI1', 'k#{kind}', '{d}')",
    )
    volumes = "F=st.total(5, size=100), D=st.each(F, mean=9, max=100_000, size=100)"
    text += patterns(
        "def of_kind(self, kind: str) -> st.Query[D]: ...",
        "def of_f(self, f: str) -> st.Query[D]: ...",
        table=f", F, volumes=st.volumes({volumes})",
    )
    assert [line.split(":")[0] for line in messages(text, "A04")] == ["P.of_f"]
    assert st.cost(model(text)).line("P.of_kind").notes[0].startswith("the number of D items is")


def test_a_shard_of_a_time_is_no_bucket_of_time() -> None:
    text = item("M", "'m#{id}#{at|shard:4}', '{at}#{n}'", "id: st.Slug; at: datetime; n: st.Slug")
    assert not messages(text + patterns("@st.latest\ndef m(self, id: str) -> M | None: ..."), "A06")
