"""`hashrange design export` and `import`: documents, warnings, and errors of one line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.tools.cli.design.exchange import TO, export, import_

from ..test_examples import EXAMPLES

SENSORS = EXAMPLES / "sensors.py"


@pytest.mark.parametrize("format", TO)
def test_every_format_is_written(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(SENSORS, format, None, None, None)
    printed = capsys.readouterr()
    assert "sensor-management" in printed.out
    assert all(line.startswith("hashrange: ") for line in printed.err.splitlines())
    export(SENSORS, format, None, None, tmp_path / "out")
    assert (tmp_path / "out").read_text() == printed.out


def test_the_description_has_all_that_the_model_declares(
    capsys: pytest.CaptureFixture[str],
) -> None:
    export(EXAMPLES / "chat.py", "json", None, None, None)
    [table] = json.loads(capsys.readouterr().out)["tables"]
    entities = {entity["name"]: entity for entity in table["entities"]}
    assert entities["Login"]["key"] == {"pk": "USER#{user_id}", "sk": "{method}#{handle}"}
    assert entities["Login"]["unique"]["one_owner"]["template"] == "{method}#{handle}"
    assert entities["Membership"]["copies"]["username"]["owner"] == "User"
    assert entities["Login"]["fields"]["method"]["choices"] == ["EMAIL", "USERNAME", "STEAM"]
    assert len(table["patterns"]) == 13
    export(EXAMPLES / "orders.py", "json", None, None, None)
    [table] = json.loads(capsys.readouterr().out)["tables"]
    orders = next(e for e in table["entities"] if e["name"] == "Order")
    assert orders["indexes"]["unfulfilled"]["when"] == "status = :open"
    assert table["timeToLiveAttribute"] == "expires"


def refusal(
    capsys: pytest.CaptureFixture[str], run: Callable[..., None], *arguments: object
) -> str:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert capsys.readouterr().out == ""
    message = str(ended.value)
    assert message.startswith("hashrange: ")
    assert "\n" not in message
    return message


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    other = tmp_path / "other.json"
    other.write_text('{"DataModel": []}')
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    cloudformation = "cloudformation"
    missing = tmp_path / "missing.json"
    for run, *arguments in (
        (export, SENSORS, cloudformation, other, None, out),
        (export, SENSORS, cloudformation, missing, None, out),
        (export, SENSORS, "terraform", other, None, out),
        (export, SENSORS, "json", None, "building_id", out),
        (export, SENSORS, "iam", None, "absent", out),
        (export, missing, "iam", None, None, out),
        (import_, other, cloudformation, out),
        (import_, binary, cloudformation, out),
        (import_, missing, cloudformation, out),
    ):
        refusal(capsys, run, *arguments)
    assert not out.exists()


def test_updates_from_a_deployed_template(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = tmp_path / "deployed.json"
    export(SENSORS, "cloudformation", None, None, deployed)
    template = json.loads(deployed.read_text())
    [resource] = template["Resources"].values()
    kept = resource["Properties"]["GlobalSecondaryIndexes"][:2]
    resource["Properties"]["GlobalSecondaryIndexes"] = kept
    deployed.write_text(json.dumps(template))
    capsys.readouterr()
    export(SENSORS, "cloudformation", deployed, None, deployed)
    assert "this update adds GSI3; 1 more update must follow" in capsys.readouterr().err
    export(SENSORS, "cloudformation", deployed, None, deployed)
    assert "this update adds GSI4\n" in capsys.readouterr().err
    export(SENSORS, "cloudformation", deployed, None, deployed)
    assert "every index is deployed" in capsys.readouterr().err
