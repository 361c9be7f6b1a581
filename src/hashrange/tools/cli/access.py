"""hashrange access explain|check"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashrange.failing import fail, told_in_one_line
from hashrange.tools.cli.commands import STORE_HELP, command, database_name, opened

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands


def add(commands: "Commands") -> None:
    parser = command(commands, access)
    parser.set_defaults(run=parser.print_help)
    below = parser.add_subparsers(title="commands", metavar="COMMAND")
    explaining = command(below, explain)
    explaining.add_argument("operation", metavar="OPERATION", help="for example GetItem")
    explaining.add_argument(
        "request",
        metavar="REQUEST.json",
        type=Path,
        help="a file with the request's parameters",
    )
    explaining.add_argument(
        "--access", metavar="FILE", type=Path, required=True, help="the access file"
    )
    explaining.add_argument(
        "--as",
        dest="principal",
        metavar="ARN",
        required=True,
        help="the principal that makes the request",
    )
    explaining.add_argument(
        "--db",
        metavar="DB",
        type=database_name,
        help=f"{STORE_HELP}: its tables, tags and policies are used; default: an empty database",
    )
    checking = command(below, check)
    checking.add_argument("policy", metavar="POLICY.json", type=Path, help="an IAM policy")
    checking.add_argument(
        "--model",
        metavar="MODEL",
        type=Path,
        help="a Python file with st.Tables: also report the permissions that its patterns and "
        "writes do not need",
    )


def access() -> None:
    """Explain what an access file or a policy allows."""


def explain(
    operation: str, request: Path, access: Path, principal: str, db: Path | str | None
) -> None:
    """Show which statement allows or denies a request, and the request's condition keys.

    The exit status is 0 if the request is allowed, else 1.
    """
    from hashrange.model.errors import ApiError
    from hashrange.model.settings import Settings

    with told_in_one_line():
        members = _members(request)
        settings = Settings(access=access)
        with opened(db, settings) as database:
            try:
                answers = database.explain(operation, members, principal=principal)["access"]
            except ApiError as error:
                fail(f"{error.code}: {error.message}")
            except ValueError as error:
                fail(str(error))
    if not answers:
        print(f"allowed: {principal} has full access")
    for answer in answers:
        print("\n".join(_lines_of(answer)))
    if not all(answer["allowed"] for answer in answers):
        raise SystemExit(1)


def _members(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as problem:
        fail(f"{path}: the request is not JSON: {problem}")


def _lines_of(answer: dict[str, Any]) -> list[str]:
    verdict = "allowed" if answer["allowed"] else f"denied {answer['because']}"
    lines = [f"{answer['action']} on {answer['resource']}: {verdict}"]
    if answer["statement"]:
        lines.append(f"  decided by {answer['statement']} of {answer['policy']}")
    lines += [f"  {key} = {', '.join(values)}" for key, values in answer["condition_keys"].items()]
    return lines


def check(policy: Path, model: Path | None) -> None:
    """List requests that a policy allows although its conditions seem to exclude them.

    The exit status is 1 if there is a finding.
    """
    from hashrange.access.breadth import findings
    from hashrange.access.policy import PolicyError, parse

    with told_in_one_line():
        try:
            read = parse(policy.read_text("utf-8-sig"), str(policy))
        except (PolicyError, UnicodeDecodeError) as error:
            fail(f"{policy}: {error}")
        lines = [f"{policy}: {line}" for line in findings(read)]
        if model is not None:
            from hashrange.tools.access_beyond import beyond_policy
            from hashrange.tools.cli.design.model_files import tables_of

            lines += [f"{policy}: {line}" for line in beyond_policy(read, tables_of(model))]
    for line in lines:
        print(line)
    if lines:
        raise SystemExit(1)
    print(f"{policy}: no statement is broader than it looks")
