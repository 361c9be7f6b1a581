"""What the server writes on stderr: lines of text, or one JSON object for each line."""

import logging
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

LogFormat = Literal["text", "json"]


class Fields(dict[str, Any]):
    """A message of named values. As text it is `name=value name=value ...`."""

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.items())


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: `time` (ISO 8601, UTC), `level`, `logger`, and either the
    named values of `Fields` or `message`; `traceback` if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
        }
        if isinstance(record.msg, Fields):
            line |= record.msg
        else:
            line["message"] = record.getMessage()
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def configure(log_format: LogFormat, access_log: bool) -> None:
    """Write warnings and errors of every library, and the server's own notes, on stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter()
        if log_format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("hashrange").setLevel(logging.INFO)
    logging.getLogger("hashrange.access").setLevel(logging.INFO if access_log else logging.WARNING)
