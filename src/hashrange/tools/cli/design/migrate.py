"""hashrange design migrate: change the model of a table while programs use it."""

from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail
from hashrange.tools.cli.commands import DB_HELP, command
from hashrange.tools.cli.design.model_files import tables_of
from hashrange.tools.cli.targets import opened_target, say
from hashrange.tools.cli.transfers import add_yes, ask_before_writing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from hashrange.design import Migration
    from hashrange.tools.cli.commands import Commands
    from hashrange.tools.target import Target

Options = dict[str, Any]


def add(tools: "Commands") -> None:
    about = "Change the model of a live table: see docs/how-to/change-a-live-table.md."
    migrate = tools.add_parser("migrate", help=about, description=about, allow_abbrev=False)
    migrate.set_defaults(run=migrate.print_help, parser=migrate)
    steps = migrate.add_subparsers(title="commands", metavar="COMMAND")
    for function in (plan, start, status, advance, back, pause, resume, verify, finish):
        parser = command(steps, function)
        _add_models(parser)
        parser.add_argument("--json", dest="as_json", action="store_true", help="print JSON")
        if function in (plan, advance, resume):
            parser.add_argument(
                "--rate", metavar="N", type=_rate, help="write at most N items a second"
            )
        if function in (start, advance, back, resume, finish):
            parser.add_argument(
                "--dry-run",
                action="store_true",
                help="print the write requests without sending them",
            )
        if function not in (plan, status, verify):
            add_yes(parser)


def _add_models(parser: "argparse.ArgumentParser") -> None:
    parser.add_argument("old", metavar="OLD", type=Path, help="the model of the stored items")
    parser.add_argument("new", metavar="NEW", type=Path, help="the changed model")
    parser.add_argument("db", metavar="DB", help=DB_HELP)
    parser.add_argument(
        "--accept",
        metavar="PATTERN",
        action="append",
        default=[],
        help="a pattern that may read an index instead of the table; can be repeated",
    )
    parser.add_argument(
        "--lease",
        metavar="SECONDS",
        type=_rate,
        help="the lease that the programs use, in seconds; default: 5",
    )
    parser.add_argument(
        "--signature-life",
        metavar="SECONDS",
        type=_rate,
        help="the seconds for which a signed request can stay valid; default: 1800, as on AWS",
    )
    parser.add_argument(
        "--guards",
        metavar="N",
        type=int,
        default=0,
        help="the number of guards, the same as in the programs; default: 0; a guard is an item "
        "that is checked together with every write of the items that the migration changes; with "
        "guards, the migration relies on no clock",
    )


def _rate(text: str) -> float:
    import argparse

    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def _migration(old: Path, new: Path, options: Options) -> "Migration":
    """The migration of the one table that both files declare."""
    from hashrange.design import DeclarationError, Migration
    from hashrange.design.tools.diff import tables_of_both

    pairs = list(tables_of_both(tables_of(old), tables_of(new)))
    changed = [(a, b) for a, b in pairs if len(pairs) == 1 or _differs(a, b)]
    if len(changed) != 1:
        names = ", ".join(a.name for a, _ in changed) or "none"
        fail(f"a migration must change one table of {old}; {new} changes {names}")
    settings: Options = {"guards": options["guards"], "accept": options["accept"]}
    if options["lease"] is not None:
        settings["lease_seconds"] = options["lease"]
    if options["signature_life"] is not None:
        settings["signature_seconds"] = options["signature_life"]
    try:
        return Migration(*changed[0], **settings)
    except DeclarationError as error:
        fail(error)


def _differs(old: Any, new: Any) -> bool:
    from hashrange.design import diff

    return diff(old, new).needs_work


@contextmanager
def _told() -> "Iterator[None]":
    from botocore.exceptions import BotoCoreError, ClientError

    from hashrange.design import DesignError

    try:
        yield
    except (DesignError, BotoCoreError, ClientError) as error:
        fail(error)
    except KeyboardInterrupt:
        say("interrupted: continue with `hashrange design migrate resume`")
        raise


def _report(progress: Any) -> None:
    say(f"{progress.phase}: {progress.text}")


def _print_state(state: Any, as_json: bool) -> None:
    if as_json:
        print(_json(asdict(state)))
        return
    text = f"{state.phase}: {'complete' if state.done else 'its work is not complete'}"
    if state.items:
        text += f", {state.items:,} items"
    if state.paused:
        text += ", paused"
    print(text)


def _change(name: str, what: str, options: Options) -> None:
    """Run the command `name` of a migrator on the database. On AWS, ask first; `what` is the verb
    in the question."""
    migration = _migration(options["old"], options["new"], options)
    with opened_target(options["db"]) as target, _told():
        migrator = migration.migrator(options.get("rate"), _report)
        steps = getattr(migrator, name)()
        if options.get("dry_run"):
            _show(steps, target)
            return
        if name == "start" and not migration.keeps_out(target.client):
            say(
                "writes of programs that do not follow the migration are not refused; "
                "`hashrange design migrate plan` shows the policy that would refuse them"
            )
        ask_before_writing(target, f"{what} the migration of {migration.old.name}", options["yes"])
        from hashrange.design.execute.connection import connect
        from hashrange.design.execute.steps import run

        _print_state(run(steps, connect(target.client)), options["as_json"])


def _json(value: object) -> str:
    import json  # only these commands need it

    return json.dumps(value, ensure_ascii=False)


def _show(steps: Any, target: "Target") -> None:
    from hashrange.design.execute.connection import connect
    from hashrange.design.migrate.dry_run import dry_run

    def show(operation: str, payload: Options) -> None:
        print(_json({"Operation": operation, **payload}))

    dry_run(steps, connect(target.client), show)


def plan(**options: Any) -> None:
    """Print each phase with its items, units, dollars and hours, or why the change is refused."""
    migration = _migration(options["old"], options["new"], options)
    with opened_target(options["db"]) as target, _told():
        phases = migration.plan(target.client, rate=options["rate"])
    print(phases.json() if options["as_json"] else phases)


def start(**options: Any) -> None:
    """Add the new indexes. Programs that follow the migration still write the old items only."""
    _change("start", "Start", options)


def status(**options: Any) -> None:
    """Print the phase, and the progress of its work."""
    migration = _migration(options["old"], options["new"], options)
    with opened_target(options["db"]) as target, _told():
        _print_state(migration.status(target.client), options["as_json"])


def advance(**options: Any) -> None:
    """Complete the work of the phase, enter the next phase, and do its work."""
    _change("advance", "Advance", options)


def back(**options: Any) -> None:
    """Return to the phase `old`; possible until the end of `read-new`. Nothing is lost."""
    _change("back", "Undo", options)


def pause(**options: Any) -> None:
    """Stop the working migrator at the end of its current page."""
    _change("pause", "Pause", options)


def resume(**options: Any) -> None:
    """Continue the work of the phase after a pause or an interruption."""
    _change("resume", "Resume", options)


def verify(**options: Any) -> None:
    """Compare all items in both forms. Exit status 1 if an item differs."""
    migration = _migration(options["old"], options["new"], options)
    with opened_target(options["db"]) as target, _told():
        differing = migration.verify(target.client)
    if options["as_json"]:
        print(_json({"differing": differing}))
    else:
        for key in differing:
            print(_json(key))
        print(f"{len(differing):,} items differ")
    if differing:
        raise SystemExit(1)


def finish(**options: Any) -> None:
    """Drop the old indexes and end the migration."""
    _change("finish", "Finish", options)
