"""Rules that may nest, as generators: depth lives in a list and not on Python's stack.

A rule asks for what another one gives by `node = yield other_rule()`, so a text of nothing but
parentheses is as harmless as any other.
"""

from collections.abc import Generator
from typing import TypeAlias, TypeVar, cast

T = TypeVar("T")
Rule: TypeAlias = Generator["Rule[T]", T, T]


def run(rule: Rule[T]) -> T:
    """Drive a rule and all the rules it asks for; give its result."""
    waiting = [rule]
    answer: T | None = None
    while True:
        try:
            waiting.append(waiting[-1].send(cast(T, answer)))
            answer = None
        except StopIteration as end:
            answer = end.value
            waiting.pop()
            if not waiting:
                return cast(T, answer)
