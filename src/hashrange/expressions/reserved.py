"""The 573 words that cannot stand for an attribute. Source: developer guide, "ReservedWords"."""

from importlib.resources import files

RESERVED_WORDS = frozenset(
    files("hashrange.expressions").joinpath("reserved_words.txt").read_text("ascii").split()
)
