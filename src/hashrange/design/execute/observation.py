"""The report of each call that `table.open(..., observe=...)` gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Observation:
    """The cost of a call: its requests, the capacity units, and the total time in seconds.

    `atomic` is False if copies were written after their owner, in several transactions.
    """

    name: str
    requests: list[tuple[str, dict[str, Any]]]
    pages: int = 0
    items: int = 0
    capacity: float = 0.0
    seconds: float = 0.0
    atomic: bool = True


Observer = Callable[[Observation], object]
