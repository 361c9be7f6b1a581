"""The keys of items that are still JSON, each in one spelling.

The same key may be written in many ways: 1 and 1.0, "a" and "\\u0061", with spaces, and with its
attributes in another order.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from hashrange.formats.items import encode
from hashrange.model.errors import ApiError
from hashrange.model.numbers import canonical

ItemKey = tuple[dict[str, str], ...]
"""The values of the key attributes, in their order, each a type and a text."""


class ItemKeys:
    """Finds keys; `names` are the key attributes of a table."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        fields = [(f"f{number}", dict[str, str]) for number in range(len(names))]
        renamed = {f"f{number}": name for number, name in enumerate(names)}
        self._decode = msgspec.json.Decoder(
            msgspec.defstruct("Key", fields, rename=renamed, frozen=True)
        ).decode

    def of(self, item: bytes) -> ItemKey | None:
        """The key of an item; None if it has none, so that the database will refuse the item."""
        try:
            values: ItemKey = msgspec.structs.astuple(self._decode(item))
            for value in values:
                if "N" in value:
                    value["N"] = canonical(value["N"])
                elif "B" in value:
                    value["B"] = b64encode(b64decode(value["B"])).decode()
        except (msgspec.DecodeError, ValueError, ApiError):
            return None
        return values

    def json(self, key: ItemKey) -> bytes:
        return encode(dict(zip(self._names, key, strict=True)))
