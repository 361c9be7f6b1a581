"""The Dockerfile and the files beside it: their variables exist, and what they name is there."""

import argparse
import json
import re
from pathlib import Path

import pytest

from hashrange.interfaces.cli import serve
from hashrange.interfaces.cli.environment import ONLY_VARIABLES, variable

ROOT = Path(__file__).parents[2]
FILES = [
    "Dockerfile",
    "compose.yaml",
    "examples/container/github-actions.yml",
    "examples/container/devcontainer/compose.yaml",
    "docs/how-to/run-in-a-container.md",
    "docs/reference/command-line.md",
]


def known_variables() -> set[str]:
    commands = argparse.ArgumentParser().add_subparsers()
    serve.add(commands)
    actions = commands.choices["serve"]._actions
    return {variable(action) for action in actions if action.dest != "help"} | {*ONLY_VARIABLES}


@pytest.mark.parametrize("file", FILES)
def test_every_variable_that_is_set_exists(file: str) -> None:
    named = set(re.findall(r"\bHASHRANGE_[A-Z_]*[A-Z]\b", (ROOT / file).read_text()))
    assert named
    assert named <= known_variables()


def test_the_image_has_what_the_dockerfile_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    sent = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.M)
    assert sorted(" ".join(copied).split()) == sorted(sent)
    assert all((ROOT / name).exists() for name in sent)


def test_the_development_container_names_its_files() -> None:
    folder = ROOT / "examples/container/devcontainer"
    declared = json.loads((folder / "devcontainer.json").read_text())
    assert (folder / declared["dockerComposeFile"]).exists()
