"""The Python of the tutorials and how-to pages runs, page by page."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from hashrange.design.rules import RULES

from .test_examples import EXAMPLES

DOCS = EXAMPLES.parent / "docs"
PAGES = [
    *(f"tutorials/{name}" for name in ("sensors", "organisations", "orders", "animals", "chat")),
    "how-to/design-an-existing-table",
    "how-to/page-a-web-api",
]


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    text = (DOCS / Path(f"{page}.md")).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks
    module = ModuleType("a_page")
    monkeypatch.setitem(sys.modules, "a_page", module)
    for block in blocks:
        exec(block, vars(module))


def test_the_reference_lists_every_rule() -> None:
    text = (DOCS / "reference" / "design.md").read_text()
    listed = re.findall(r"^\| ([A-Z]\d\d) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    assert set(listed) == {(rule.id, rule.severity, rule.title) for rule in RULES.values()}
