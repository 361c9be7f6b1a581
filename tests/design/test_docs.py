"""The pages are correct: their Python runs, and their commands print what the pages show."""

import asyncio
import os
import re
import shlex
import subprocess
import sys
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command_line import command_line

import hashrange
from hashrange.design.tools.rules import RULES
from hashrange.testing.postgres_server import PostgresServer

from .test_examples import EXAMPLES, example, served

pytestmark = pytest.mark.slow

ROOT = EXAMPLES.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXCERPT = re.compile(r"^```\n(class .*?)^```", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^\$ (hashrange design .*)\n((?:(?!\$ |```).+\n)*)", re.MULTILINE)
PAGES = [
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if BLOCK.search(page.read_text())
]
ADDRESS = "postgresql://hashrange@db.example/app"
TESTS = "docs/how-to/test-with-pytest.md"
POSTGRESQL = "docs/how-to/run-on-postgresql.md"
TUTORIALS = ["animals", "chat", "orders", "organisations", "repositories", "sensors", "tasks"]
WITH_EXCERPTS = ["organisations", "repositories", "sensors"]
SCRIPT = f"{shlex.quote(sys.executable)} -m hashrange"


def page_module(page: str) -> ModuleType:
    """A module with all of a page's Python."""
    module = sys.modules["a_page"] = ModuleType("a_page")
    for block in BLOCK.findall((ROOT / page).read_text()):
        exec(block, vars(module))
    return module


@pytest.fixture
def beside_the_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("beside_the_examples")
@pytest.mark.parametrize("page", [page for page in PAGES if page != POSTGRESQL])
def test_page(page: str) -> None:
    with hashrange.connect() as database, hashrange.mock(database):
        page_module(page)


@pytest.mark.usefixtures("beside_the_examples")
@pytest.mark.parametrize("page", [page for page in PAGES if page != POSTGRESQL])
def test_the_first_block_of_a_page_runs_by_itself(page: str) -> None:
    """Nobody copies a whole page."""
    with hashrange.connect() as database, hashrange.mock(database):
        exec(BLOCK.findall((ROOT / page).read_text())[0], {"__name__": "a_block"})


@pytest.mark.deep
def test_the_tests_of_the_readme_run_by_themselves(tmp_path: Path) -> None:
    blocks = [
        each for each in BLOCK.findall((ROOT / "README.md").read_text()) if "def test_" in each
    ]
    for number, block in enumerate(blocks):
        (tmp_path / f"test_readme_{number}.py").write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert re.search(r"^3 passed", done.stdout, re.MULTILINE), done.stdout


def test_the_page_about_postgresql(postgres_server: PostgresServer) -> None:
    page = (ROOT / POSTGRESQL).read_text().replace(ADDRESS, postgres_server.new_schema())
    in_a_program, on_a_loop = BLOCK.findall(page)
    names: dict[str, Any] = {}
    exec(in_a_program, names)
    names["client"].create_table(
        TableName="Orders",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    names["db"].close()
    asyncio.run(eval(compile(on_a_loop, POSTGRESQL, "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT), names))


@pytest.mark.deep
def test_the_page_about_tests_is_tests(tmp_path: Path) -> None:
    file = tmp_path / "test_page.py"
    file.write_text("\n".join(BLOCK.findall((ROOT / TESTS).read_text())))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES, check=False)
    assert re.search(r"^8 passed", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.usefixtures("beside_the_examples")
def test_the_lambda_function_answers() -> None:
    with hashrange.connect() as database, hashrange.mock(database):
        module = page_module("docs/how-to/use-on-aws-lambda.md")
        example("chat").table.create(database)
        found = vars(module)["handler"]({"server_id": "7"}, None)
    assert found == {"members": [], "next": None}


def plain(line: str) -> bool:
    """Whether the command needs no shell."""
    return not re.search(r"[|<>;&$]", line)


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    words = line.replace("hashrange", SCRIPT, 1)
    return subprocess.run(words, shell=True, capture_output=True, text=True, check=True, cwd=ROOT)


@pytest.mark.deep
@pytest.mark.parametrize(
    "page",
    ["reference/command-line.md", *(f"tutorials/{name}.md" for name in TUTORIALS)],
)
def test_commands_print_the_output_in_the_page(
    page: str, database: hashrange.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "example")
    monkeypatch.chdir(ROOT)
    commands = SHOWN.findall((DOCS / page).read_text())
    assert commands
    with served(database) as port:
        for command, output in commands:
            line = command.replace(":8000", f":{port}")
            done = command_line(*shlex.split(line)[1:]) if plain(line) else in_a_shell(line)
            assert done.returncode == 0, done.stderr
            pattern = re.escape(output).replace(r"\.\.\.", ".*")
            assert not output or re.fullmatch(pattern, done.stdout), done.stdout


@pytest.mark.parametrize("name", ["sensors", "repositories", "tasks"])
def test_the_plan_in_the_tutorial_is_the_plan(name: str) -> None:
    table = example(name).table.plan().markdown()
    assert table.strip() in (DOCS / "tutorials" / f"{name}.md").read_text()


@pytest.mark.parametrize("name", WITH_EXCERPTS)
def test_excerpts_are_in_the_example(name: str) -> None:
    lines = iter((EXAMPLES / f"{name}.py").read_text().splitlines())
    excerpts = EXCERPT.findall((DOCS / "tutorials" / f"{name}.md").read_text())
    assert excerpts
    for excerpt in excerpts:
        assert all(line in lines for line in excerpt.splitlines()), excerpt


def test_the_model_of_the_readme_is_the_example() -> None:
    lines = (EXAMPLES / "shop.py").read_text().splitlines()
    (model,) = (b for b in BLOCK.findall((ROOT / "README.md").read_text()) if "class Order" in b)
    assert [line for line in model.splitlines() if line not in lines] == []


def test_the_reference_lists_every_rule() -> None:
    text = (DOCS / "reference" / "design.md").read_text()
    listed = re.findall(r"^\| ([A-Z]\d\d) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    assert set(listed) == {(rule.id, rule.severity, rule.title) for rule in RULES.values()}


# Measuring the loads that some pictures show takes half a minute.
ALL_PICTURES = pytest.param([], marks=pytest.mark.skipif(
    not os.environ.get("HASHRANGE_SOAK"), reason="only with HASHRANGE_SOAK"
))  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("which", [["--quick"], ALL_PICTURES])
def test_the_pictures_are_those_of_the_examples(which: list[str]) -> None:
    script = ROOT / "scripts" / "draw_pictures.py"
    command = [sys.executable, str(script), "--check", *which]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_picture_is_shown_and_every_shown_picture_exists() -> None:
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    shown = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"\(((?:\.\./)*(?:docs/)?pictures/[\w.-]+\.svg)\)", page.read_text())
    }
    assert shown == {path.resolve() for path in (DOCS / "pictures").glob("*.svg")}
