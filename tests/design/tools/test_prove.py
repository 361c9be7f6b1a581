"""What `prove` and `plan` report about models that do not work."""

from pathlib import Path

import hashrange
from hashrange import design as st

from ..models import GET_A, PRELUDE, A, item, model, patterns
from .test_tools import command

CLASHING = item(
    "U", "'u#{u}', 'info'", "u: st.Slug; name: Literal['x']", "one = st.unique('{name}')"
) + item(
    "P",
    "'p#{p}', 'info'",
    "p: st.Slug; u: st.Slug; name: str = st.copy(U, 'name', sync='batch')",
    "of = st.index('GSI1', 'u#{u}', 'p#{p}')",
)
ONE_KEY = item("B", "'a#{id}', 'info'", "id: st.Slug; y: str = ''")
NOTHING = A + ONE_KEY + patterns(GET_A, "def b(self, id: str) -> B | None: ...")


def test_children_of_a_parent_that_could_not_be_stored_are_left_out() -> None:
    table = model(CLASHING + patterns("def of_user(self, u: str) -> st.Query[P]: ...", table=", U"))
    with hashrange.connect() as database:
        proof = st.prove(table, database)
    assert proof.differences == []
    assert proof.asked["P.of_user"] > 0


def test_a_proof_without_questions_fails(tmp_path: Path) -> None:
    with hashrange.connect() as database:
        proof = st.prove(model(NOTHING), database)
    assert proof.failed
    assert [line.split(":")[0] for line in proof.differences] == ["P.a", "P.b"]
    with hashrange.connect() as database:
        assert st.prove(model(A + patterns()), database).failed
    file = tmp_path / "nothing.py"
    file.write_text(PRELUDE + NOTHING)
    told = command("prove", str(file))
    assert told.returncode == 1
    assert "no arguments for this pattern" in told.stdout


def test_a_wrong_pattern_is_one_line() -> None:
    table = model(A + patterns("def all(self, id: str) -> st.Query[A]: ..."))

    class Forgetful:
        def __init__(self, database: hashrange.Database) -> None:
            self.database = database

        def execute(self, operation: str, payload: dict[str, object]) -> dict[str, object]:
            answer: dict[str, object] = self.database.execute(operation, payload)
            return {**answer, "Items": []} if operation == "Query" else answer

    with hashrange.connect() as database:
        proof = st.prove(table, Forgetful(database))
    [line] = proof.differences
    assert line.startswith(
        f"P.all: {proof.asked['P.all']} of {proof.asked['P.all']} results differ"
    )


def test_a_question_is_asked_once() -> None:
    table = model(A + patterns("@st.scan_ok('all')\ndef all(self) -> st.Query[A]: ...", GET_A))
    with hashrange.connect() as database:
        proof = st.prove(table, database)
    assert proof.asked["P.all"] == 1
    assert proof.asked["P.a"] <= proof.items


def test_plan_fails_if_a_pattern_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(PRELUDE + A + patterns("def by_x(self, x: str) -> st.Query[A]: ..."))
    told = command("plan", str(file))
    assert told.returncode == 1
    assert "refused" in told.stdout
    file.write_text(PRELUDE + A + patterns(GET_A))
    assert command("plan", str(file)).returncode == 0
