"""Parses hashrange's own options in the address of a database, and checks its TLS options.

asyncpg does not explain wrong TLS options. Messages show these options, but nothing else of the
address, because it may belong to the password.
"""

import os
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from hashrange.kv import StoreError

POOL_MAX = 64

TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_ROOT = Path(".postgresql", "root.crt")
"""The root certificate that PostgreSQL's programs look for, in the user's home."""


def without_option(dsn: str, name: str) -> tuple[str, str]:
    """The DSN without the option `name`, and the option's value ("" if the option is not set)."""
    options = _options(dsn)
    others = [(key, value) for key, value in options if key != name]
    if len(others) == len(options):
        return dsn, ""
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(query=urlencode(others))), dict(options)[name]


def is_citus(text: str, name: str) -> bool:
    if text not in ("", "citus"):
        raise StoreError(f"{name}: dialect must be citus or omitted, not {text!r}")
    return text == "citus"


def pool_size(text: str, name: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= POOL_MAX:
        raise StoreError(f"{name}: pool must be a number from 1 to {POOL_MAX}, not {text!r}")
    return int(text)


def is_set(text: str, option: str, name: str) -> bool:
    if text not in ("", "0", "1"):
        raise StoreError(f"{name}: {option} must be 1 or omitted, not {text!r}")
    return text == "1"


def check_tls(dsn: str, name: str) -> None:
    """Check the TLS options. Raises StoreError for an unknown mode, or a missing certificate."""
    options = dict(_options(dsn))
    mode = options.get("sslmode") or os.environ.get("PGSSLMODE", "prefer")
    if mode not in TLS_MODES:
        raise StoreError(f"{name}: sslmode must be one of {', '.join(TLS_MODES)}, not {mode!r}")
    files = {key: options.get(key) or os.environ.get(f"PG{key.upper()}") for key in _FILES}
    for key, file in files.items():
        if file and not Path(file).is_file():
            raise StoreError(f"{name}: {key}: no such file: {file}")
    if mode.startswith("verify") and not (files["sslrootcert"] or (Path.home() / _ROOT).exists()):
        raise StoreError(
            f"{name}: sslmode={mode} needs sslrootcert=FILE, the certificate of the authority "
            "that signed the server's certificate"
        )


def _options(dsn: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(dsn).query, keep_blank_values=True)
    except ValueError:  # an invalid address is reported when it is used
        return []
