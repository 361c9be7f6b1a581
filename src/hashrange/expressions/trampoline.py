"""A trampoline for grammar rules that may nest: waiting rules are in a list, not on Python's stack.

A rule is a generator that gets the result of another rule by `node = yield other_rule()`. So deeply
nested parentheses cannot overflow the stack.
"""

from collections.abc import Generator
from typing import TypeAlias, TypeVar, cast

T = TypeVar("T")
Rule: TypeAlias = Generator["Rule[T]", T, T]


def run(rule: Rule[T]) -> T:
    """Run a rule and all rules that it yields, and return its result."""
    waiting = [rule]
    answer: T | None = None
    try:
        while waiting:
            try:
                waiting.append(waiting[-1].send(cast(T, answer)))
                answer = None
            except StopIteration as end:
                answer = end.value
                waiting.pop()
    finally:
        waiting.clear()  # a stored error would keep the rules alive: megabytes
    return cast(T, answer)
