"""Generated items have values that their fields allow."""

from pathlib import Path
from typing import Any

import pytest

import hashrange
from hashrange import design as st

from ..models import GET_A, PRELUDE, item, model, patterns
from .test_tools import command

CONSTRAINED = """
class A(st.Item):
    key = st.key("a#{a}", "{year:04d}#{celsius:+06.1f}#{level:+03d}")
    a: st.Slug
    year: Annotated[int, Field(ge=1990, lt=2100)]
    celsius: Annotated[Decimal, Field(gt=-100, lt=100, decimal_places=1)]
    level: int
    debt: Annotated[int, Field(le=-5)]
    name: Annotated[str, Field(min_length=8)]
    code: Annotated[str, Field(pattern="^[A-Z]{2}-[0-9]$"%s)]


class P(st.Store, Protocol):
    def of(self, a: str, year: int, celsius: st.AtLeast[Decimal]) -> st.Query[A]: ...


table = st.Table("app", P)
"""


@pytest.mark.parametrize("readable", [False, True])
def test_samples_keep_the_bounds_of_fields(readable: bool) -> None:
    table = model(CONSTRAINED % ', examples=["AB-1", "CD-2"]')
    items: Any = st.sample(table, parents=40, readable=readable)
    assert len(items) > 10
    assert {item.code for item in items} == {"AB-1", "CD-2"}
    if not readable:
        assert {item.celsius < 0 for item in items} == {True, False}
        assert {item.level < 0 for item in items} == {True, False}
    assert not st.prove(table, hashrange.connect()).failed


def test_a_value_that_cannot_be_generated_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(PRELUDE + CONSTRAINED % "")
    done = command("prove", str(file))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("hashrange: A: no generated value is valid (code: ")
    assert line.endswith("Field(examples=[...])")


def test_samples_have_different_unique_texts() -> None:
    table = model(
        item("A", "'a#{id}', 'info'", "id: st.Slug; mail: str", "one = st.unique('{mail}')")
        + patterns(GET_A)
    )
    for seed in range(5):
        mails = [vars(one)["mail"] for one in st.sample(table, parents=12, seed=seed)]
        assert mails
        assert len(set(mails)) == len(mails), seed
