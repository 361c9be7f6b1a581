"""The address of a database.

app.db                      a file, opened in this process
http://127.0.0.1:8000       a server that speaks the DynamoDB API
postgresql://host/name      a database over PostgreSQL, opened in this process
aws, aws:profile@region     AWS, with the credentials that boto3 finds
"""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from hashrange.failing import fail

Kind = Literal["file", "server", "postgresql", "aws"]

AWS = re.compile(r"aws(?::(?P<profile>[^@]+))?(?:@(?P<region>[a-z0-9-]+))?")


def kind_of(name: str) -> Kind:
    if name.startswith(("http://", "https://")):
        return "server"
    if name.startswith(("postgresql://", "postgres://")):
        return "postgresql"
    return "aws" if AWS.fullmatch(name) else "file"


def without_password(name: str) -> str:
    if kind_of(name) in ("file", "aws"):
        return name
    parts = urlsplit(name)
    user, separator, _ = parts.netloc.rpartition("@")
    shown = f"{user.partition(':')[0]}@" if separator else ""
    return parts._replace(netloc=f"{shown}{parts.netloc.rpartition('@')[2]}", query="").geturl()


def printed(path: Path | str) -> str:
    """The address of a database as messages show it, without the password."""
    try:
        return str(path) if isinstance(path, Path) else without_password(path)
    except ValueError as error:
        fail(f"the address of the database is not valid: {error}")
