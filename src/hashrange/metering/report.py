"""The counts of the meter, for monitoring."""

from msgspec import Struct


class SourceReport(Struct, frozen=True):
    """Since the start: units of a table (`index` None) or global index, and refusals by reason.

    A read or write that was refused for two reasons counts once in `read_throttles` or
    `write_throttles`.
    """

    table: str
    index: str | None
    read_units: float
    write_units: float
    throttled: dict[str, int]
    read_throttles: int = 0
    write_throttles: int = 0
