"""Each rule has a model that triggers it and a similar one that does not."""

import pytest

from hashrange import design as st
from hashrange.design.tools.rules import RULES

from ..models import GET_A, A, item, model, patterns
from ..test_examples import EXAMPLES, example
from .index_models import INDEXES
from .key_models import KEYS
from .pattern_models import PATTERNS
from .spread_models import SPREAD

CASES = KEYS | INDEXES | PATTERNS | SPREAD


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
    assert set(CASES) == set(RULES)


def test_ids_have_no_gaps() -> None:
    for letter in {rule[0] for rule in RULES}:
        numbers = sorted(int(rule[1:]) for rule in RULES if rule[0] == letter)
        assert numbers == [*range(1, len(numbers) + 1)], letter


@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("organisations.organisations", set()),
        ("organisations.projects", {"I02 LSI by_last_updated"}),
        (
            "orders.table",
            {"C03 Order", "C07 Shop.unfulfilled", "I15 Order.unfulfilled", "R04 CartLine"},
        ),
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
                "R04 Measurement",
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
        ("chat.table", {"K19 GSI gs1", "R04 Position"}),
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
    with pytest.raises(st.DeclarationError, match="A99 is not a rule"):
        st.lint(model(ignored.replace("'A11'", "'A99'")))


def test_missing_numbers_are_counted_as_not_checked() -> None:
    report = st.lint(model(A + patterns(GET_A)))
    assert ("C02", "size of A") in report.unchecked
    assert "not checked because" in str(report)
    assert str(st.Report("app", (), (), ())) == "app: 0 findings, 0 ignored"


def test_the_text_of_a_rule() -> None:
    assert st.rule("k05").startswith("K05 (warning): a pattern's prefix")
    with pytest.raises(KeyError, match="K05"):
        st.rule("K055")


@pytest.mark.parametrize(
    ("name", "old", "new", "more"),
    [
        (
            "sensors",
            "floor@{floor_id}@room#{room_id}",
            "floor#{floor_id}#room#{room_id}",
            {"K05 Sensors.floors", "K07 Floor"},
        ),
        (
            "chat",
            '    one_owner = st.unique("{method}#{handle}")\n',
            "",
            {"A05 Accounts.login", "R05 Login.by_handle"},
        ),
        (
            "chat",
            '    username: str = st.copy(User, "username", sync="transaction")',
            '    name: str = st.copy(Server, "name", sync="batch")',
            {"R01 Membership.name", "R03 Membership.name"},
        ),
    ],
)
def test_findings_that_the_examples_avoid(name: str, old: str, new: str, more: set[str]) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    assert old in text
    before, after = (st.lint(model(t)).findings for t in (text, text.replace(old, new)))
    found = {f"{f.rule} {f.where}" for f in after} - {f"{f.rule} {f.where}" for f in before}
    assert found == more


def test_a_prefix_overlap_names_the_other_entities() -> None:
    text = (EXAMPLES / "sensors.py").read_text().replace("floor@{floor_id}@", "floor#{floor_id}#")
    [finding] = [f for f in st.lint(model(text)).findings if f.rule == "K05"]
    assert finding.message == "begins_with(sk, 'floor#') for Floor also reads Room"


@pytest.mark.parametrize("factory", ["st.ulid()", "None"])
def test_a_generated_id_is_unique_unless_it_is_passed(factory: str) -> None:
    fields = (
        f"c: st.Slug; o: st.Slug = {factory}" if factory != "None" else "c: st.Slug; o: st.Slug"
    )
    index = "by_id = st.index('GSI1', 'o#{o}', 'info')"
    one = "def order(self, o: str) -> O | None: ..."
    report = st.lint(model(item("O", "'c#{c}', 'o#{o}'", fields, index) + patterns(one)))
    found = {(f.rule, f.severity) for f in report.findings if f.rule in ("A05", "R05")}
    if factory == "st.ulid()":
        assert found == {("A05", "information")}
    else:
        assert found == {("A05", "error"), ("R05", "warning")}


@pytest.mark.parametrize(
    ("fields", "index", "finding"),
    [
        ("d: dict[str, int] = {}", "", "C03 warning A: d has no max_length"),
        ("d: Annotated[dict[str, int], Field(max_length=9)] = {}", "", None),
        (
            "s: Annotated[str, Field(max_length=500_000)] = ''",
            "",
            "C02 warning A: s may have 500,000 characters, but an item has at most 400 KB",
        ),
        ("s: Annotated[str, Field(max_length=400_000)] = ''", "", None),
        (
            "t: datetime = st.now(update=True)",
            "i = st.index('idx', 'x', '{t}')",
            "I20 information A.i: t: edited by every write",
        ),
        ("t: datetime = st.now(create=True)", "i = st.index('idx', 'x', '{t}')", None),
    ],
)
def test_fields_that_grow_or_change(fields: str, index: str, finding: str | None) -> None:
    text = item("A", "'a#{id}', 'info'", f"id: st.Slug; {fields}", index) + patterns(GET_A)
    told = [str(one) for one in st.lint(model(text)).findings if one.rule in ("C02", "C03", "I20")]
    assert told == ([finding] if finding is not None else [])


@pytest.mark.parametrize(
    ("key", "finding"),
    [
        ("'{d}'", "warning A: of two items with the same day"),
        ("'{d:%Y-%m}'", "error A: of two items with the same period"),
        ("'{at}'", "information A: of two items with the same microsecond"),
        ("'{at:%Y-%m-%d}'", "error A: of two items with the same moment"),
        ("'{d}#{x}'", None),
    ],
)
def test_times_that_do_not_make_a_key_unique(key: str, finding: str | None) -> None:
    text = item("A", f"'a#{{id}}', {key}", "id: st.Slug; d: date; at: datetime; x: st.Slug")
    told = [str(one) for one in st.lint(model(text + patterns())).findings if one.rule == "K04"]
    assert len(told) == (finding is not None)
    assert finding is None or told[0].startswith(f"K04 {finding}")


def test_a_write_without_a_size_is_at_least_a_unit() -> None:
    text = item("A", "'all', '{id}'", "id: st.Slug")
    table = ", writes=[st.writes(A, create={})]"
    hot, cold = (model(text + patterns(table=table.format(rate))) for rate in (1001, 1000))
    assert [str(f) for f in st.lint(hot).findings if f.rule == "C01"] == [
        "C01 error A.key: 1,001 write units per second on 'all', which allows 1,000"
    ]
    assert not [f for f in st.lint(cold).findings if f.rule == "C01"]


def test_a_partial_identity_is_told_as_what_is_missing() -> None:
    trigger, _ = CASES["K16"]
    [finding] = [one for one in st.lint(model(trigger)).findings if one.rule == "K16"]
    assert finding.message == "several O items can have o#{o}: only c and o together identify one"
