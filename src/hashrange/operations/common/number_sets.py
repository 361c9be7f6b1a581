"""The order of number sets in responses.

Sets are stored in ascending order, in which GetItem, BatchGetItem, Query and the ReturnValues of
single writes return them. Scan, transactions, PartiQL and streams return a number set in the order
of a Java HashSet of BigDecimals that was filled in ascending order. Captured on the service in
October 2026; the hash functions are those of the Java platform's documentation.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from hashrange.model.validation import java

_FIRST_BRACKET_MAX = 16
"""The search for number sets begins at this byte. The bracket of a list in a response, as in
`{"Items":[`, comes earlier, and brackets of number sets come later."""

_NUMBER_SET = re.compile(rb'"NS":\[("[-0-9."]+(?:,"[-0-9."]+)+)\]')
"""Matches a number set of several members in JSON. Nothing else has this form: quotes within a
string are escaped, and an attribute that is called NS has an object as its value."""

_encode = msgspec.json.Encoder().encode


def in_hash_order(response: Any) -> Raw:
    """The JSON of a response, or of a part of it, with its number sets in hash order."""
    encoded = _encode(response)
    if encoded.find(b"[", _FIRST_BRACKET_MAX) > 0:
        encoded = _NUMBER_SET.sub(_reordered, encoded)
    return Raw(encoded)


def item_in_hash_order(item: dict[str, Any]) -> dict[str, Any]:
    """A decoded item with its number sets in hash order, for an error."""
    decoded: dict[str, Any] = msgspec.json.decode(in_hash_order({"Item": item}))["Item"]
    return decoded


def _reordered(match: re.Match[bytes]) -> bytes:
    members = match[1].decode()[1:-1].split('","')
    return b'"NS":["%b"]' % '","'.join(hash_order(members)).encode()


def hash_order(ascending: Sequence[str]) -> list[str]:
    """The members of a number set in hash order. `ascending` has them in canonical form."""
    return [ascending[at] for at in java.hash_order(list(map(_hash, ascending)))]


def _hash(number: str) -> int:
    """The 32-bit BigDecimal.hashCode of a number without its trailing zeros."""
    whole, _, fraction = number.lstrip("-").partition(".")
    digits = whole + fraction
    significant = digits.rstrip("0")
    unscaled = int(significant or "0")
    scale = len(fraction) - (len(digits) - len(significant)) if unscaled else 0
    words = []
    while unscaled:
        words.append(unscaled & 0xFFFF_FFFF)
        unscaled >>= 32
    value = 0
    for word in reversed(words):
        value = 31 * value + word
    return (31 * (-value if number[0] == "-" else value) + scale) & 0xFFFF_FFFF
