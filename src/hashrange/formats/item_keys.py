"""The keys of items that are still JSON, in a canonical form.

The same key can be written in many ways: 1 or 1.0, "a" or "\\u0061", with spaces, or with its
attributes in another order.
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from hashrange.formats.items import encode
from hashrange.model.errors import ApiError
from hashrange.model.numbers import canonical

ItemKey = tuple[dict[str, str], ...]
"""The values of the key attributes, in the order of the key. Each is {type: text}."""


class ItemKeys:
    """Gets the keys of items; `names` are the key attributes of their table."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        fields = [(f"f{number}", dict[str, str]) for number in range(len(names))]
        renamed = {f"f{number}": name for number, name in enumerate(names)}
        self._decode = msgspec.json.Decoder(
            msgspec.defstruct("Key", fields, rename=renamed, frozen=True)
        ).decode

    def of(self, item: bytes) -> ItemKey | None:
        """The key of an item; None if it has no valid key, so that the database will refuse it."""
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
