"""The lint rules, one module for each subject. Every rule registers itself in `RULES`."""

from hashrange.design.tools.rules import (
    index_contents,
    indexes,
    keys,
    patterns,
    relations,
    size,
    vectors,
)
from hashrange.design.tools.rules.rule import RULES, Context, Finding, Rule

__all__ = [
    "RULES", "Context", "Finding", "Rule", "index_contents", "indexes", "keys", "patterns",
    "relations", "size", "vectors",
]  # fmt: skip
