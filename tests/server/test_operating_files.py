"""The files for containers, systemd, Prometheus and Grafana: what they name is there."""

import argparse
import json
import re
from pathlib import Path

import pytest

from hashrange.server.admin import Metrics
from hashrange.server.admin.figures import FIGURES
from hashrange.tools.cli import serve
from hashrange.tools.cli.environment import ONLY_VARIABLES, variable

ROOT = Path(__file__).parents[2]
FILES = [
    "Dockerfile",
    "compose.yaml",
    "examples/container/github-actions.yml",
    "examples/container/devcontainer/compose.yaml",
    "examples/operate/environment",
    "docs/operate.md",
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


# ---- monitoring ----

MONITORING = [
    "examples/operate/grafana-dashboard.json",
    "examples/operate/hashrange-alerts.yml",
    "docs/operate.md",
    "docs/reference/metrics.md",
]


@pytest.fixture(scope="module")
def metrics() -> set[str]:
    """The names of all metrics."""
    pytest.importorskip("prometheus_client")
    text = Metrics(lambda: dict.fromkeys(FIGURES, 0)).render({}).body.decode()
    families = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
    found = {name for name, _ in families}
    for name, kind in families:
        if kind == "histogram":
            found |= {f"{name}_{part}" for part in ("bucket", "count", "sum")}
    return found


@pytest.mark.parametrize("file", MONITORING)
def test_every_metric_that_is_named_exists(file: str, metrics: set[str]) -> None:
    text = (ROOT / file).read_text()
    named = set(re.findall(r"\b(?:hashrange|process|aws_dynamodb)_[a-z_]*[a-z]\b", text))
    assert len(named) > 5
    assert named <= metrics


def test_every_metric_is_explained(metrics: set[str]) -> None:
    text = (ROOT / "docs/operate.md").read_text()
    text += (ROOT / "docs/reference/metrics.md").read_text()
    ours = {name for name in metrics if name.startswith(("hashrange_", "aws_"))}
    missing = {
        name
        for name in ours
        if name not in text and not name.endswith(("_bucket", "_count", "_sum"))
    }
    assert not missing


def test_the_dashboard_is_one() -> None:
    dashboard = json.loads((ROOT / "examples/operate/grafana-dashboard.json").read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(target["expr"] for panel in panels for target in panel["targets"])
