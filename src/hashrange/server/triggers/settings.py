"""The triggers of `serve --trigger`: a table, a function, and how the function is called.

Members have the names of Lambda's CreateEventSourceMapping, so that they can be copied.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from hashrange.server.listener import ServerError, is_loopback
from hashrange.server.triggers.patterns import Matches, PatternError, matcher

REPORT_FAILURES = "ReportBatchItemFailures"
FILTERS_MAX = 10
FILE_BYTES_MAX = 1024 * 1024

_is_table = re.compile(r"[a-zA-Z0-9_.-]{3,255}").fullmatch
_is_function = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*").fullmatch

Count = Annotated[int, Meta(ge=-1, le=10_000)]


class Filter(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    pattern: str | dict[str, Any]


class FilterCriteria(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    filters: Annotated[list[Filter], Meta(max_length=FILTERS_MAX)] = []


class Trigger(Struct, rename="pascal", forbid_unknown_fields=True, frozen=True):
    """The settings of one trigger. `function` is `module:handler` or a URL. In a number, -1 means
    no limit, as on Lambda."""

    table_name: str
    function: str
    batch_size: Annotated[int, Meta(ge=1, le=10_000)] = 100
    maximum_batching_window_in_seconds: Annotated[float, Meta(ge=0, le=300)] = 0
    starting_position: Literal["TRIM_HORIZON", "LATEST"] = "TRIM_HORIZON"
    filter_criteria: FilterCriteria = FilterCriteria()
    function_response_types: list[Literal["ReportBatchItemFailures"]] = []
    maximum_retry_attempts: Count = -1
    maximum_record_age_in_seconds: Annotated[int, Meta(ge=-1, le=604_800)] = -1
    bisect_batch_on_function_error: bool = False
    timeout: Annotated[float, Meta(gt=0, le=900)] = 60
    """The time limit for a call of the function, in seconds."""

    @property
    def name(self) -> str:
        """The name of the trigger in messages."""
        return f"{self.table_name}={self.function}"

    @property
    def id(self) -> str:
        """The name under which the database stores the trigger's checkpoints.

        It depends only on the table and the function, so changes of other settings keep the
        checkpoints.
        """
        return hashlib.sha256(self.name.encode()).hexdigest()[:16]

    @property
    def is_url(self) -> bool:
        return "://" in self.function

    @property
    def reports_failures(self) -> bool:
        return REPORT_FAILURES in self.function_response_types

    def patterns(self) -> list[Matches]:
        """The filters, as functions that tell whether a record matches. If there are any filters, a
        record must match one of them. Raises ServerError."""
        try:
            return [matcher(_decoded(each.pattern)) for each in self.filter_criteria.filters]
        except (PatternError, msgspec.DecodeError) as error:
            raise ServerError(f"--trigger {self.name}: filter: {error}") from None


def _decoded(pattern: str | dict[str, Any]) -> Any:
    return msgspec.json.decode(pattern) if isinstance(pattern, str) else pattern


def triggers(texts: Sequence[str], hosts: Sequence[str]) -> list[Trigger]:
    """The triggers that `texts`, the values of `--trigger`, declare.

    The URL of a function must name one of `hosts`, or a loopback address. Raises ServerError.
    """
    parsed = [trigger for text in texts for trigger in _read(text)]
    for trigger in parsed:
        _check(trigger, hosts)
    names = [trigger.name for trigger in parsed]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ServerError(f"--trigger {twice} is given twice")
    return parsed


def _read(text: str) -> list[Trigger]:
    table, separator, function = text.partition("=")
    if separator and _is_table(table):
        return [Trigger(table, function)]
    path = Path(text)
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ServerError(f"--trigger: {text}: the file is larger than 1 MB")
        content = path.read_bytes()
    except OSError as error:
        raise ServerError(
            f"--trigger: {text}: {error.strerror}; name TABLE=module:handler, TABLE=http://... or "
            "a file with such triggers in JSON"
        ) from None
    try:
        return msgspec.json.decode(content, type=list[Trigger])
    except msgspec.ValidationError as error:
        raise ServerError(f"--trigger: {text}: {error}") from None
    except msgspec.DecodeError as error:
        raise ServerError(f"--trigger: {text}: not JSON: {error}") from None


def _check(trigger: Trigger, hosts: Sequence[str]) -> None:
    where = f"--trigger {trigger.name}"
    if not _is_table(trigger.table_name):
        raise ServerError(f"{where}: {trigger.table_name!r} is not the name of a table")
    if 0 <= trigger.maximum_record_age_in_seconds < 60:
        raise ServerError(f"{where}: MaximumRecordAgeInSeconds must be -1 or from 60 to 604800")
    trigger.patterns()
    if trigger.is_url:
        _check_url(where, trigger.function, hosts)
    elif not _is_function(trigger.function):
        raise ServerError(
            f"{where}: name a function as module:handler, or the URL at which it is called"
        )


def _check_url(where: str, url: str, hosts: Sequence[str]) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ServerError(f"{where}: {error}") from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not is_plain:
        raise ServerError(f"{where}: not a URL such as http://127.0.0.1:3001/...")
    if parts.username is not None or parts.fragment:
        raise ServerError(f"{where}: the URL must not have a user or a fragment")
    if not is_loopback(parts.hostname) and parts.hostname not in [host.lower() for host in hosts]:
        raise ServerError(
            f"{where}: {parts.hostname} is not this machine; if items may be sent there, add "
            f"--trigger-host {parts.hostname}"
        )
