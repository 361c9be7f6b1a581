"""The result of writing or reading a model in another format."""

from dataclasses import dataclass

from hashrange.design.errors import DesignError


class ExchangeError(DesignError):
    """A file cannot be read, or a model cannot be written, in the requested format."""


@dataclass(frozen=True)
class Exported:
    """A document, with a warning for each part of the model that its format cannot express."""

    text: str
    warnings: tuple[str, ...] = ()
