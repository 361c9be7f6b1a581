"""The generated modules are up to date with the script and the installed service model."""

import runpy
from pathlib import Path

import botocore
import pytest

from hashrange.model.validation import shapes

SCRIPT = Path(__file__).parents[2] / "scripts" / "generate_shapes.py"


@pytest.mark.skipif(
    not shapes.tables().source.endswith(f" {botocore.__version__}"),
    reason="another version of the service model is installed",
)
def test_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    assert (main(["--check"]), capsys.readouterr().out) == (0, "")
