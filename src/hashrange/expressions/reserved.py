"""The 573 words that cannot stand for an attribute. Source: developer guide, "ReservedWords"."""

from pkgutil import get_data

RESERVED_WORDS = frozenset(
    (get_data("hashrange.expressions", "reserved_words.txt") or b"").decode("ascii").split()
)
