"""The protocol of a migration as a plain state machine, for checking all its interleavings.

One item has an old copy and a new one. Two programs write it, of the old or the new model; one
migrator takes the table through the phases, may be replaced at any moment while its last request
is still under way, and may go back. A request that was signed arrives later or never. `truth` is
what the writes that took effect add up to: every read of a program with a lease must answer it.

`FLAWS` are the rules that can be left out, to see that a wrong answer is then found.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

FLAWS = (
    "signs again without a lease",
    "backfills without a condition",
    "does not wait before the sweep",
    "leaves mirrors that stand alone",
    "does not check the term",
    "writes without the epoch",
    "changes twice within a lease",
)
OLD, DUAL, READ_NEW, NEW, CONTRACTING, DONE = range(6)
NAMES = ("old", "dual", "read-new", "new", "contracting", "done")


class Copy(NamedTuple):
    value: int
    stamp: int


class Request(NamedTuple):
    """A transaction: conditional on the image that its author read, and on the epoch.

    One of a migrator is conditional on its term. `phase` is the next one, if it changes that.
    """

    kind: str
    value: int | None
    image: Copy | None
    epoch: int
    term: int = -1
    phase: int = -1


class Lease(NamedTuple):
    phase: int
    epoch: int


class Program(NamedTuple):
    lease: Lease | None
    values: tuple[int | None, ...]
    """What it still writes; None deletes."""
    prepared: Request | None = None


class World(NamedTuple):
    phase: int = OLD
    epoch: int = 0
    settled: bool = True
    term: int = 0
    old: Copy | None = Copy(0, 0)
    new: Copy | None = None
    truth: int | None = 0
    programs: tuple[Program, ...] = ()
    signed: Request | None = None
    """A program's request under way; one is enough for every late request."""
    migrator: Request | None = None
    """What the migrator has prepared from an image that it read."""
    zombie: Request | None = None
    """What a migrator that was replaced may still send, at any time."""
    backs: int = 1
    kills: int = 1
    misled: bool = False
    """Whether a conditional write took effect on another item than its program had read."""


class Wrong(Exception):
    """A program with a lease would read something else than the truth. Has the way there."""


def value_of(copy: Copy | None) -> int | None:
    return None if copy is None else copy.value


def apply(world: World, request: Request, flaw: str) -> World:
    """The world after a transaction; the same world if one of its conditions fails."""
    if request.term >= 0 and request.term != world.term and flaw != "does not check the term":
        return world
    if request.kind == "phase":
        changed = request.epoch > world.epoch
        backs = world.backs - (request.phase < world.phase)
        settled = world.settled and not changed
        return world._replace(
            phase=request.phase, epoch=request.epoch, settled=settled, backs=backs
        )
    if not conditions_hold(world, request, flaw):
        return world
    written = None if request.value is None else Copy(request.value, request.epoch)
    match request.kind:
        case "plain":
            return world._replace(old=written, truth=request.value)
        case "mirror":
            return world._replace(old=written, new=written)
        case "lone":
            return world._replace(new=None)
        case "contract":
            return world._replace(old=None)
    misled = value_of(request.image) != world.truth
    old = None if request.kind == "moved" else written
    return world._replace(old=old, new=written, truth=request.value, misled=misled)


def conditions_hold(world: World, request: Request, flaw: str) -> bool:
    old, new = world.old, world.new
    touched = (old,) if request.kind in ("plain", "contract") else (old, new)
    above = any(copy is not None and copy.stamp > request.epoch for copy in touched)
    if above and flaw != "writes without the epoch":
        return False
    match request.kind:
        case "plain":
            return True
        case "mirror" if flaw == "backfills without a condition":
            return True
        case "lone":
            return old is None and new == request.image
    return request.image == (new if request.kind in ("new model", "moved") else old)


# ---- programs ----


def requests(world: World, lease: Lease, value: int | None) -> Iterator[Request]:
    """What a program with this lease may send: of the old model, and from `new` on of the new."""
    if lease.phase == OLD:
        yield Request("plain", value, None, lease.epoch)
    elif lease.phase in (DUAL, READ_NEW, NEW):
        yield Request("old model", value, world.old, lease.epoch)
    if lease.phase == NEW:
        yield Request("new model", value, world.new, lease.epoch)
    if lease.phase >= CONTRACTING:
        yield Request("moved", value, world.new, lease.epoch)


def steps_of_programs(world: World, flaw: str) -> Iterator[tuple[str, World]]:
    for number, program in enumerate(world.programs):
        name = f"program {number}"

        def becomes(changed: Program, number: int = number) -> World:
            programs = list(world.programs)
            programs[number] = changed
            return world._replace(programs=tuple(programs))

        current = Lease(world.phase, world.epoch)
        if program.lease != current:
            yield f"{name} reads {NAMES[world.phase]}", becomes(program._replace(lease=current))
        if program.lease is not None:
            yield f"{name}: its lease ends", becomes(program._replace(lease=None))
        if program.lease is not None and program.prepared is None and program.values:
            value, *rest = program.values
            for request in requests(world, program.lease, value):
                after = program._replace(values=tuple(rest), prepared=request)
                yield f"{name} prepares {request}", becomes(after)
        prepared = program.prepared
        if prepared is not None:
            leased = program.lease is not None and program.lease.epoch == prepared.epoch
            if world.signed is None and (leased or flaw == "signs again without a lease"):
                after = program._replace(prepared=None)
                yield f"{name} signs", becomes(after)._replace(signed=prepared)
            if not leased:
                yield f"{name} gives up", becomes(program._replace(prepared=None))
    if world.signed is not None:
        yield "the request takes effect", apply(world, world.signed, flaw)._replace(signed=None)
        yield "the request is lost", world._replace(signed=None)


# ---- the migrator ----


def steps_of_migrator(world: World, flaw: str) -> Iterator[tuple[str, World]]:
    if world.zombie is not None:
        yield "the zombie writes", apply(world, world.zombie, flaw)._replace(zombie=None)
    if world.migrator is not None:
        yield "the migrator writes", apply(world, world.migrator, flaw)._replace(migrator=None)
        if world.kills and world.zombie is None:
            after = world._replace(
                migrator=None, zombie=world.migrator, term=world.term + 1, kills=world.kills - 1
            )
            yield "the migrator is replaced", after
        return
    if not world.settled:
        yield from settling(world)
    for request in work(world, flaw):
        yield f"the migrator prepares {request}", world._replace(migrator=request)


def settling(world: World) -> Iterator[tuple[str, World]]:
    """Wait for the lease, then for the longest life of a signature."""
    leases = [program.lease for program in world.programs if program.lease is not None]
    if all(lease.epoch == world.epoch for lease in leases):
        late = world.signed is not None and world.signed.epoch < world.epoch
        signed = None if late else world.signed
        yield "it settles", world._replace(settled=True, signed=signed)


def work(world: World, flaw: str) -> Iterator[Request]:
    """The writes of a migrator in each phase, from the items that it reads."""
    old, new, epoch, term = world.old, world.new, world.epoch, world.term
    settled = world.settled or flaw == "does not wait before the sweep"
    if world.phase == DUAL and settled:
        if old is not None and old.stamp < epoch:
            yield Request("mirror", old.value, old, epoch, term)
        if old is None and new is not None and flaw != "leaves mirrors that stand alone":
            yield Request("lone", None, new, epoch, term)
    if world.phase == CONTRACTING and world.settled and old is not None:
        yield Request("contract", None, old, epoch, term)
    for phase in next_phases(world, flaw):
        changed = {(OLD, DUAL), (DUAL, OLD), (NEW, CONTRACTING)}
        later = epoch + ((world.phase, phase) in changed)
        yield Request("phase", None, None, later, term, phase)


def next_phases(world: World, flaw: str) -> Iterator[int]:
    """The phases that may follow, when no program lags behind."""
    old, new, settled = world.old, world.new, world.settled
    current = Lease(world.phase, world.epoch)
    followed = all(program.lease in (None, current) for program in world.programs)
    if not followed and flaw != "changes twice within a lease":
        return
    alone = old is None and new is not None and flaw != "leaves mirrors that stand alone"
    mirrored = not alone and (old is None or old.stamp >= world.epoch)
    match world.phase:
        case 0:  # OLD
            yield DUAL
        case 1:  # DUAL
            if mirrored and (settled or flaw == "does not wait before the sweep"):
                yield READ_NEW
            if world.backs:
                yield OLD
        case 2:  # READ_NEW
            yield NEW
            if world.backs:
                yield DUAL
        case 3:  # NEW
            yield CONTRACTING
        case 4 if settled and old is None:  # CONTRACTING
            yield DONE


# ---- all interleavings ----


def fault(world: World) -> str | None:
    if world.misled:
        return "a conditional write took effect on another item than its program had read"
    for number, program in enumerate(world.programs):
        if program.lease is not None:
            reads_old = program.lease.phase < READ_NEW
            answer = value_of(world.old if reads_old else world.new)
            if answer != world.truth:
                return f"program {number} reads {answer}, not {world.truth}"
    if world.phase == DONE and (world.old is not None or value_of(world.new) != world.truth):
        return f"the end is {world}"
    return None


def explore(first: World, flaw: str = "") -> tuple[int, bool]:
    """(worlds, whether the end was reached). Raises Wrong with the shortest way to a wrong read."""
    came: dict[World, tuple[World | None, str]] = {first: (None, "")}
    waiting = deque([first])
    finished = False
    while waiting:
        world = waiting.popleft()
        finished = finished or world.phase == DONE
        for steps in (steps_of_programs(world, flaw), steps_of_migrator(world, flaw)):
            for step, after in steps:
                if after in came:
                    continue
                came[after] = (world, step)
                wrong = fault(after)
                if wrong is not None:
                    raise Wrong("\n".join([*way(came, after), wrong]))
                waiting.append(after)
    return len(came), finished


def way(came: dict[World, tuple[World | None, str]], world: World) -> list[str]:
    steps = []
    at: World | None = world
    while at is not None:
        at, step = came[at]
        steps.append(step)
    return steps[::-1][1:]
