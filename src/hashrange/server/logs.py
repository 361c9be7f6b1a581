"""The log that the server writes to stderr: lines of text, or one JSON object per line."""

import logging
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

LogFormat = Literal["text", "json"]


class Fields(dict[str, Any]):
    """A message of named values, written as `name=value name=value ...`."""

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.items())


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object, with `time` (ISO 8601, UTC), `level` and `logger`.

    The object also has `message` or, for `Fields`, their named values. If there are several
    workers, it has `worker`; if the record has a traceback, `traceback`.
    """

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
        }
        if self._worker is not None:
            line["worker"] = self._worker
        if isinstance(record.msg, Fields):
            line |= record.msg
        else:
            line["message"] = record.getMessage()
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


class _Handler(logging.StreamHandler[Any]):
    """Writes to stderr while holding a lock, so that lines of several processes do not mix."""

    def __init__(self, lock: AbstractContextManager[object]) -> None:
        super().__init__()
        self._between_processes = lock

    def emit(self, record: logging.LogRecord) -> None:
        with self._between_processes:
            super().emit(record)


def configure(
    log_format: LogFormat,
    access_log: bool,
    worker: int | None = None,
    lock: AbstractContextManager[object] | None = None,
) -> None:
    """Write warnings and errors of every library, and the server's own notes, to stderr. With
    `access_log`, write the access log there too.

    If several processes write to one stderr, they share a `lock`, and each `worker` has a number.
    """
    handler = _Handler(lock or nullcontext())
    number = "" if worker is None else f" worker={worker}"
    handler.setFormatter(
        JsonFormatter(worker)
        if log_format == "json"
        else logging.Formatter(f"%(asctime)s %(levelname)s %(name)s{number} %(message)s")
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("hashrange").setLevel(logging.INFO)
    logging.getLogger("hashrange.access").setLevel(logging.INFO if access_log else logging.WARNING)
