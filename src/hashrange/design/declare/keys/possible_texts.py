"""The texts that key templates can produce, and whether two templates can produce the same text.

A template is a sequence of runs, each of `least` to `most` characters from a set. Two sequences are
compared as finite automata, so the answer is exact for these sets and lengths.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Chars(NamedTuple):
    """A set of characters: the members or, if `inverted`, all characters except the members."""

    members: frozenset[str]
    inverted: bool = False

    def meets(self, other: "Chars") -> bool:
        if self.inverted and other.inverted:
            return True
        if self.inverted:
            return bool(other.members - self.members)
        if other.inverted:
            return bool(self.members - other.members)
        return bool(self.members & other.members)


ANY = Chars(frozenset(), inverted=True)
DIGITS = Chars(frozenset("0123456789"))


class CharRun(NamedTuple):
    """From `least` to `most` characters from a set. `most` is None if there is no limit.

    A limit above 64 counts as no limit.
    """

    chars: Chars
    least: int = 1
    most: int | None = None


CharRuns = Sequence[CharRun]
REST = CharRun(ANY, 0)
"""Any text. A prefix followed by this run stands for all texts that begin with the prefix."""


def literal(text: str) -> list[CharRun]:
    return [CharRun(Chars(frozenset(c)), 1, 1) for c in text]


def meet(a: CharRuns, b: CharRuns) -> bool:
    """Whether the two sequences of runs can produce the same text."""
    first, second = _Automaton(a), _Automaton(b)
    seen = {(0, 0, 0, 0)}
    waiting = list(seen)
    while waiting:
        i, m, j, n = waiting.pop()
        if first.ends(i, m) and second.ends(j, n):
            return True
        for i2, m2, chars in first.steps(i, m):
            for j2, n2, others in second.steps(j, n):
                state = (i2, m2, j2, n2)
                if state not in seen and chars.meets(others):
                    seen.add(state)
                    waiting.append(state)
    return False


class _Automaton:
    """A finite automaton whose states are (run, number of characters taken from the run).

    In a run without a limit, the count stops at `least`, which keeps the number of states small.
    """

    def __init__(self, runs: CharRuns) -> None:
        self.runs = [r if r.most is None or r.most <= 64 else r._replace(most=None) for r in runs]

    def ends(self, run: int, taken: int) -> bool:
        return self._left(run, taken) and all(r.least == 0 for r in self.runs[run + 1 :])

    def steps(self, run: int, taken: int) -> list[tuple[int, int, Chars]]:
        """The possible next states, each as (run, taken, characters that lead to this state)."""
        moves = []
        while run < len(self.runs):
            current = self.runs[run]
            if current.most is None:
                moves.append((run, min(taken + 1, current.least), current.chars))
            elif taken < current.most:
                moves.append((run, taken + 1, current.chars))
            if taken < current.least:
                break
            run, taken = run + 1, 0
        return moves

    def _left(self, run: int, taken: int) -> bool:
        return run >= len(self.runs) or taken >= self.runs[run].least
