"""A model of the fences of a cluster, checked in every order of its steps.

Two writers of two shards, a change of definitions, and a shard that moves to a node which has just
joined. Each step is what PostgreSQL does at once: a statement, or a message of several under locks.
The model is of the protocol in `fences` and `direct`, not of their code.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

import pytest

OLD, NEW, CLOSED = 1, 2, 9
"""Versions of a fence; CLOSED is the number of the one who changes the definitions."""


@dataclass
class Copy:
    """A shard at one node: its fence, and which writers have written to it."""

    fence: int = OLD
    rows: tuple[str, ...] = ()


@dataclass
class World:
    place: dict[str, str] = field(default_factory=lambda: {"A": "one", "B": "two"})
    copies: dict[tuple[str, str], Copy] = field(
        default_factory=lambda: {("A", "one"): Copy(), ("B", "two"): Copy()}
    )
    held: dict[str, frozenset[str]] = field(default_factory=dict)
    """The writers that hold a shard: its tables, and its place in the metadata."""
    switching: frozenset[str] = frozenset()
    """The shards whose places are held alone."""
    closed: frozenset[str] = frozenset()
    changed: bool = False
    known: dict[str, tuple[str, int]] = field(default_factory=dict)
    """What each writer has read: the place of its shard, and the version of its fence."""
    acknowledged: frozenset[tuple[str, str]] = frozenset()

    def here(self, shard: str) -> Copy:
        return self.copies[shard, self.place[shard]]

    def holders(self, shard: str) -> frozenset[str]:
        return self.held.get(shard, frozenset())


Step = Callable[[World], bool]
"""Changes the world. Returns False, and changes nothing, if it has to wait."""


def reads(name: str, shard: str) -> Step:
    def step(world: World) -> bool:
        world.known[name] = world.place[shard], world.here(shard).fence
        return True

    return step


def holds(name: str, shard: str) -> Step:
    def step(world: World) -> bool:
        if shard in world.switching:
            return False
        world.held[shard] = world.holders(shard) | {name}
        return True

    return step


def writes(name: str, shard: str, looks_at_place: bool, looks_at_fence: bool) -> Step:
    def step(world: World) -> bool:
        place, version = world.known[name]
        copy = world.copies[shard, place]
        moved = looks_at_place and world.place[shard] != place
        fenced = looks_at_fence and copy.fence != version
        if version == CLOSED or moved or fenced:
            del world.known[name]
        return True

    return step


def commits(name: str, shard: str) -> Step:
    def step(world: World) -> bool:
        if name in world.known:
            place, version = world.known[name]
            assert not (world.changed and version == OLD), "it was decided by old definitions"
            world.copies[shard, place].rows += (name,)
            world.acknowledged |= {(name, shard)}
        world.held[shard] = world.holders(shard) - {name}
        return True

    return step


def closes(shard: str, waits: bool) -> Step:
    def step(world: World) -> bool:
        if shard in world.switching or (waits and world.holders(shard)):
            return False
        world.here(shard).fence = CLOSED
        return True

    return step


def changes(world: World) -> bool:
    world.changed = True
    return True


def opens(shard: str, waits: bool) -> Step:
    def step(world: World) -> bool:
        if waits and shard in world.switching:
            return False
        copy = world.here(shard)
        if copy.fence == CLOSED:
            copy.fence = NEW
        return True

    return step


def copies(shard: str) -> Step:
    def step(world: World) -> bool:
        world.copies[shard, "joined"] = Copy()
        return True

    return step


def blocks(shard: str, waits: bool) -> Step:
    def step(world: World) -> bool:
        if waits and world.holders(shard):
            return False
        world.switching |= {shard}
        world.copies[shard, "joined"] = deepcopy(world.here(shard))  # it has caught up
        return True

    return step


def switches(shard: str) -> Step:
    def step(world: World) -> bool:
        world.place[shard] = "joined"
        world.switching -= {shard}
        return True

    return step


def programs(
    *,
    place: bool = True,
    fence: bool = True,
    waits: bool = True,
    kept: bool = True,
    opened: bool = True,
) -> list[list[Step]]:
    """Those of the two writers, the change and the move. One safeguard may be missing."""
    writers = [
        [
            *(reads(name, shard), holds(name, shard)),
            *(writes(name, shard, place, fence), commits(name, shard)),
        ]
        for name, shard in (("first", "A"), ("second", "B"))
    ]
    change = [closes("A", waits), closes("B", waits), changes]
    change += [opens("A", opened), opens("B", opened)]
    return [*writers, change, [copies("A"), blocks("A", kept), switches("A")]]


def outcomes(steps: list[list[Step]]) -> Iterator[World]:
    """The world at the end of each order of steps that makes a difference."""
    seen: set[str] = set()
    waiting = [((0,) * len(steps), World())]
    while waiting:
        at, world = waiting.pop()
        if (key := f"{at} {world}") in seen:
            continue
        seen.add(key)
        moved = False
        for i, program in enumerate(steps):
            if at[i] < len(program):
                after = deepcopy(world)
                if program[at[i]](after):
                    moved = True
                    waiting.append(((*at[:i], at[i] + 1, *at[i + 1 :]), after))
        if not moved:
            assert all(done == len(program) for done, program in zip(at, steps, strict=True))
            yield world


def check(steps: list[list[Step]]) -> int:
    count = 0
    for world in outcomes(steps):
        count += 1
        for name, shard in world.acknowledged:
            assert name in world.here(shard).rows, "an acknowledged write is lost"
        assert {world.here(shard).fence for shard in world.place} == {NEW}, "it stays closed"
    return count


def test_nothing_is_lost_in_any_order() -> None:
    assert check(programs()) > 10


@pytest.mark.parametrize("safeguard", ["place", "fence", "waits", "kept", "opened"])
def test_each_safeguard_is_needed(safeguard: str) -> None:
    with pytest.raises(AssertionError, match=r"old definitions|is lost|stays closed"):
        check(programs(**{safeguard: False}))
