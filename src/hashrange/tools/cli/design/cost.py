"""hashrange design cost: what a model costs, or two models side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hashrange.failing import fail
from hashrange.tools.cli.design.model_files import add_model, tables_of

if TYPE_CHECKING:
    import argparse

    from hashrange.design import Cost


def add_arguments(parser: "argparse.ArgumentParser") -> None:
    add_model(parser)
    parser.add_argument(
        "other", metavar="OTHER", type=Path, nargs="?", help="another model, for comparison"
    )
    parser.add_argument("--region", default="us-east-1", help="default: us-east-1")
    parser.add_argument(
        "--mode",
        choices=("on-demand", "provisioned", "both"),
        default="both",
        help="default: both",
    )
    parser.add_argument(
        "--utilisation",
        metavar="SHARE",
        type=float,
        default=0.7,
        help="average share of the provisioned capacity that is used; default: 0.7",
    )
    parser.add_argument(
        "--prices", metavar="FILE", type=Path, help="prices to use instead of the built-in ones"
    )
    parser.add_argument(
        "--json", dest="as_json", action="store_true", help="print all numbers as JSON"
    )


def cost(
    model: Path,
    other: Path | None,
    region: str,
    mode: Literal["on-demand", "provisioned", "both"],
    utilisation: float,
    prices: Path | None,
    as_json: bool,
) -> None:
    """Print capacity units, storage and dollars per month, or compare two models."""
    from hashrange.design import DesignError
    from hashrange.design import cost as cost_of
    from hashrange.design.tools.cost.compare import compare

    def costs(path: Path) -> "list[Cost]":
        return [
            cost_of(table, region=region, mode=mode, utilisation=utilisation, prices=prices)
            for table in tables_of(path)
        ]

    try:
        models_costs = [costs(path) for path in (model, other) if path is not None]
    except DesignError as error:
        fail(error)
    if as_json:
        print(_as_json(models_costs))
    elif other is not None:
        print(compare(models_costs[0], models_costs[1], (model.stem, other.stem)))
    else:
        print("\n\n".join(str(one) for one in models_costs[0]))


def _as_json(models: "list[list[Cost]]") -> str:
    """The costs as JSON: a list of tables, or two such lists if two models are compared."""
    import json  # only this output needs it

    data = [[one.data() for one in costs] for costs in models]
    return json.dumps(data if len(data) > 1 else data[0], indent=2, ensure_ascii=False)
