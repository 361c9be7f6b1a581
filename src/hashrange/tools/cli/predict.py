"""hashrange predict"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hashrange.failing import fail
from hashrange.tools.cli.commands import command

if TYPE_CHECKING:
    from hashrange.runtime.prediction.reading import Load
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.predict.report import Report

DIFFERS = 1
SUFFIXES = (".py", ".toml")


def add(commands: "Commands") -> None:
    parser = command(commands, predict)
    parser.add_argument(
        "load",
        metavar="LOAD",
        type=Path,
        help="a trace of hashrange serve --record or hashrange.record; or a model (.py), or a "
        "description of its rates (.toml)",
    )
    parser.add_argument(
        "--as",
        dest="modes",
        metavar="MODE",
        action="append",
        default=[],
        help="a scenario: on-demand, or provisioned:READ/WRITE for the table and each global "
        "index; may be repeated",
    )
    parser.add_argument(
        "--change",
        dest="changes",
        metavar="CHANGE",
        action="append",
        default=[],
        help="a scenario in which a table changes: shard(INDEX, N) spreads each key of an index "
        "over N keys, index(INDEX).write=N and table(TABLE).read=N change provisioned units; "
        "several changes joined with & are one scenario; may be repeated",
    )
    parser.add_argument(
        "--fail-if",
        metavar="CONDITION",
        help="a condition, e.g. 'throttled > 0.1%%', 'lag > 5s', 'dollars > 100$'. Each figure is "
        "predicted as a range from a lowest to a highest value: exit with 1 if the condition holds "
        "for the whole range in any scenario, with 3 if it holds only for a part of a range",
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="replay all attempts as recorded, and compare each answer with the recorded answer",
    )
    parser.add_argument(
        "--picture", metavar="FILE", type=Path, help="draw the partitions over time (SVG)"
    )
    parser.add_argument(
        "--region", default="us-east-1", help="the region whose prices are used, default: us-east-1"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def predict(
    load: Path,
    modes: list[str],
    changes: list[str],
    fail_if: str | None,
    prove: bool,
    picture: Path | None,
    region: str,
    json: bool,
) -> None:
    """Predict what DynamoDB would refuse, how far indexes fall behind, and the bill.

    A recorded or described load is replayed on the tables as they are, and in scenarios.
    """
    from hashrange.design.errors import DesignError
    from hashrange.runtime.prediction.reading import TraceError

    try:
        if prove:
            _prove(load)
            return
        report = _report(load, [*modes, *changes], region, quiet=json)
        if picture is not None:
            _draw(report, picture)
        if json:
            content = msgspec.json.encode(report.data())
            print(msgspec.json.format(content, indent=2).decode())
        else:
            print(report.text())
        if fail_if is not None:
            _judge(report, fail_if, asked=bool(modes or changes))
    except (TraceError, DesignError) as error:
        fail(error)


def _load(path: Path) -> "tuple[Load, list[str]]":
    from hashrange.runtime.prediction.reading import Trace

    if path.suffix not in SUFFIXES:
        return Trace(str(path)), []
    from hashrange.tools.cli.design.model_files import tables_of
    from hashrange.tools.predict.description import read

    loads = read(path, tables_of)
    return loads.described(), loads.assumed


def _report(path: Path, texts: list[str], region: str, quiet: bool) -> "Report":
    from hashrange.design.tools.cost.price_list import prices_of
    from hashrange.runtime.prediction.prediction import Predictor
    from hashrange.tools.predict.report import Report
    from hashrange.tools.predict.scenarios import AS_IT_IS, scenario

    prices = prices_of(region)
    scenarios = [AS_IT_IS, *(scenario(text) for text in texts or ["on-demand"])]
    load, assumed = _load(path)

    def progress(text: str) -> None:
        if not quiet and sys.stderr.isatty():
            print(f"{text} …", file=sys.stderr)

    prediction = Predictor(load, progress).predict(scenarios, add_smallest=not texts)
    return Report(load, prediction, prices, assumed)


def _prove(path: Path) -> None:
    from hashrange.runtime.prediction.proof import prove
    from hashrange.runtime.prediction.reading import Trace

    proof = prove(Trace(str(path)))
    print(f"{proof.asks:,} checks, {proof.refusals:,} refusals: ", end="")
    if proof.difference is None:
        print("the replay gives the same answers")
        return
    print(f"{proof.differences:,} answers differ; the first: {proof.difference}")
    sys.exit(DIFFERS)


def _draw(report: "Report", picture: Path) -> None:
    from hashrange.tools.cli.design.model_files import write_result
    from hashrange.tools.predict.picture import picture as drawing

    write_result(drawing(report), picture)


def _judge(report: "Report", text: str, asked: bool) -> None:
    """End the process with the worst verdict, if the condition `text` holds for any scenario,
    wholly or in part.

    If the user `asked` for scenarios, only these scenarios are judged, otherwise the tables as they
    are.
    """
    from hashrange.tools.predict.condition import Verdict, condition

    wanted = condition(text)
    scenarios = report.prediction.scenarios[1:] if asked else report.prediction.scenarios[:1]
    verdicts = {
        each.scenario.name: wanted.verdict(*report.range_of(each, wanted.name))
        for each in scenarios
    }
    said = {
        Verdict.FAILS: "holds for the whole range",
        Verdict.STRADDLES: "holds for a part of the range",
    }
    for name, verdict in verdicts.items():
        if verdict:
            print(f"{name}: {wanted.text} {said[verdict]}", file=sys.stderr)
    for verdict in (Verdict.FAILS, Verdict.STRADDLES):
        if verdict in verdicts.values():
            sys.exit(verdict)
