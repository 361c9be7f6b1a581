"""The result of writing or reading a model in another form."""

from dataclasses import dataclass

from hashrange.design.errors import DesignError


class ExchangeError(DesignError):
    """A file cannot be read, or a model cannot be written, in the format that was named."""


@dataclass(frozen=True)
class Exported:
    """A document, with a warning for each part of the model that its format cannot express."""

    text: str
    warnings: tuple[str, ...] = ()
