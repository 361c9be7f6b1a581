"""A request as code: for boto3, for the AWS SDK for JavaScript v3, and for the AWS CLI."""

import base64
import json
import re
import shlex
from typing import Any

from hashrange.tools.console.builder import BuiltRequest
from hashrange.tools.console.values import dumps, plain

_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
WIDTH = 80
LANGUAGES = ("boto3", "JavaScript", "AWS CLI")


def snippets(request: BuiltRequest, endpoint: str | None) -> dict[str, str]:
    """The code for the request, by language. `endpoint` is the server's address; None for a file or
    AWS."""
    made = (write(request, endpoint) for write in (boto3, javascript, cli))
    return dict(zip(LANGUAGES, made, strict=True))


def boto3(request: BuiltRequest, endpoint: str | None) -> str:
    at = f", endpoint_url={endpoint!r}" if endpoint else ""
    members = "".join(
        f"    {name}={_python(value, 4, len(name) + 1)},\n"
        for name, value in request.members.items()
    )
    return (
        f'import boto3\n\nclient = boto3.client("dynamodb"{at})\n'
        f"response = client.{request.method}(\n{members})\n"
    )


def _python(value: Any, indent: int, before: int = 0) -> str:
    """A value in Python's notation. It is divided into several lines if it is too long for one
    line, after `before` characters."""
    short = _short_python(value)
    if len(short) + indent + before < WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = " " * (indent + 4)
    if isinstance(value, dict):
        lines = [
            f"{inner}{_short_python(name)}: {_python(each, indent + 4, len(name) + 4)},\n"
            for name, each in value.items()
        ]
        return "{\n" + "".join(lines) + " " * indent + "}"
    lines = [f"{inner}{_python(each, indent + 4)},\n" for each in value]
    return "[\n" + "".join(lines) + " " * indent + "]"


def _short_python(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_short_python(name)}: {_short_python(each)}" for name, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_short_python, value)) + "]"
    if isinstance(value, str):  # JSON's notation of a text is also Python's
        return json.dumps(value) if value.isprintable() and value.isascii() else repr(value)
    return repr(value)


def javascript(request: BuiltRequest, endpoint: str | None) -> str:
    at = f"{{ endpoint: {json.dumps(endpoint)} }}" if endpoint else "{}"
    command = f"{request.operation}Command"
    return (
        f'import {{ DynamoDBClient, {command} }} from "@aws-sdk/client-dynamodb";\n\n'
        f"const client = new DynamoDBClient({at});\n"
        f"const response = await client.send(new {command}({_script(request.members, 0)}));\n"
    )


def _script(value: Any, indent: int) -> str:
    short = _short_script(value)
    if isinstance(value, dict) and value and (len(short) + indent >= WIDTH or indent == 0):
        inner = " " * (indent + 2)
        lines = [
            f"{inner}{_property(name)}: {_script(each, indent + 2)},\n"
            for name, each in value.items()
        ]
        return "{\n" + "".join(lines) + " " * indent + "}"
    return short


def _short_script(value: Any) -> str:
    if isinstance(value, dict):
        members = (f"{_property(name)}: {_short_script(each)}" for name, each in value.items())
        return "{ " + ", ".join(members) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_short_script, value)) + "]"
    if isinstance(value, bytes):
        return f'Buffer.from("{base64.b64encode(value).decode()}", "base64")'
    return json.dumps(value)


def _property(name: str) -> str:
    return name if _NAME.fullmatch(name) and name != "__proto__" else json.dumps(name)


def cli(request: BuiltRequest, endpoint: str | None) -> str:
    """The request as a command for a POSIX shell, with one option on each line."""
    lines = [f"aws dynamodb {request.method}"]
    if endpoint:
        lines.append(f"--endpoint-url {shlex.quote(endpoint)}")
    for name, value in request.members.items():
        option = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
        if isinstance(value, bool):
            lines.append(f"--{'' if value else 'no-'}{option}")
        elif isinstance(value, dict):
            lines.append(f"--{option} {shlex.quote(dumps(plain(value)))}")
        else:
            lines.append(f"--{option} {shlex.quote(str(value))}")
    return " \\\n  ".join(lines) + "\n"
