"""Placing brackets side by side, so that none covers another."""

from collections.abc import Sequence

Span = tuple[float, float]


def lanes(spans: Sequence[Sequence[Span]], gap: float) -> list[int]:
    """The lane number of each bracket: the first lane that is free over the bracket's whole height.

    `spans` has the (top, bottom) spans of each bracket's parts. Brackets in one lane are at least
    `gap` apart.
    """
    taken: list[list[Span]] = []
    chosen = []
    for bracket in spans:
        top, bottom = min(s[0] for s in bracket), max(s[1] for s in bracket)
        free = next(
            (n for n, lane in enumerate(taken)
             if all(bottom + gap <= t or b + gap <= top for t, b in lane)),
            len(taken),
        )  # fmt: skip
        if free == len(taken):
            taken.append([])
        taken[free].append((top, bottom))
        chosen.append(free)
    return chosen
