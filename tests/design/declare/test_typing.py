"""Type checkers accept the examples and report each deliberate mistake."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..test_examples import EXAMPLES

MODELS = ["organisations", "orders", "sensors", "animals", "chat"]
MISTAKES = """
from typing import Protocol

from hashrange import design as st


class Floor(st.Item):
    key = st.key("b#{b}", "f#{f}")
    b: str
    f: str
    name: str = ""


class Room(st.Item):
    key = st.key("b#{b}", "r#{r}")
    b: str
    r: str


class House(st.Store, Protocol):
    def floor(self, b: str, f: str) -> Floor | None: ...
    def floors(self, b: str) -> st.Query[Floor]: ...
    def tree(self, b: str) -> st.Query[Floor | Room]: ...


class Stay(st.Item):
    key = st.key("stay#{b}", "{guest}")
    b: str
    guest: str
    nights: int = 0


class More(st.Amounts[Stay]):
    nights: int


class Inns(House, Protocol):
    def house(self, b: str) -> Floor | None: ...
    def stay(self, b: str, guest: str) -> Stay | None: ...
    def stays(self, b: st.AnyOf[str]) -> st.Query[Stay]: ...


class Stayed(st.Condition[Stay]):
    nights: st.AtLeast[int]


class Houses(st.AsyncStore, Protocol):
    async def floor(self, b: str, f: str) -> Floor | None: ...
    async def known(self, b: str) -> Stay | None: ...


table = st.Table("house", House)


def work(t: st.Work, house: House, b: str) -> int:
    floor = t.get(house.floor, b, "1")
    return 0 if floor is None else len(floor.name)


def fine(db: House) -> None:
    print(db.transact(work, db, "1") + 1)
    with db.edit(db.floor, b="1", f="2") as floor:
        floor.name = "x"
    for either in db.tree("1"):
        print(either.b)
    print(table.request(House.floors, b="1"), table.request(House.put, Floor(b="1", f="2")))
    print([room.r for room in db.tree("1").of(Room)], db.floors("1").page(5).items[0].f)


def inns(db: Inns, stay: Stay, floor: Floor) -> None:
    db.add(stay, More(nights=1))
    print(db.add_or_create(stay, More(nights=2)).nights, list(db.stays(["1"])))
    with db.transaction() as t:
        t.add(stay, More(nights=1))
    db.add(stay, nights=1)
    db.add(stay, where="nights > :least", least="x", nights=1)
    db.put(stay, where=Stayed(nights=2))
    print([one.nights for one in db.get_many(db.stay, [("1", "ann")]) if one is not None])
    print([one.name for one in db.get_many(db.house, ["1"]) if one is not None])
    changed = stay.model_copy()
    changed.nights = 2
    db.save(changed)


async def houses(db: Houses) -> None:
    print([one.name for one in await db.get_many(db.floor, [("1", "2")]) if one is not None])
    print([one.nights for one in await db.get_many(db.known, ["1"]) if one is not None])


async def mistaken_houses(db: Houses) -> None:
    await db.get_many(db.floor, [("1", 2)])  # wrong
    await db.get_many(db.known, [1])  # wrong
    await db.floor("1", g="2")  # wrong


def mistaken_conditions(db: Inns, stay: Stay, floor: Floor) -> None:
    db.put(stay, where=Stayed(night=2))  # wrong
    db.put(stay, where=Stayed(nights="2"))  # wrong
    db.put(floor, where=Stayed(nights=2))  # wrong
    with db.transaction() as t:
        t.check(floor, Stayed(nights=2))  # wrong


def mistaken_keys(db: Inns) -> None:
    db.get_many(db.stay, [("1", 2)])  # wrong
    db.get_many(db.stay, ["1"])  # wrong
    db.get_many(db.stay, [("1", "2", "3")])  # wrong
    db.get_many(db.house, [1])  # wrong
    print([one.night for one in db.get_many(db.house, ["1"]) if one])  # wrong


def mistaken_values(db: Inns, stay: Stay) -> None:
    db.add(stay, nights="1")  # wrong
    db.add_or_create(stay, nights="1")  # wrong
    db.append(stay, nights=1)  # wrong
    db.discard(stay, nights=1)  # wrong
    changed = stay.model_copy()
    changed.nights = "2"  # wrong
    changed.night = 2  # wrong


def mistaken_amounts(db: Inns, stay: Stay, floor: Floor) -> None:
    db.add(stay, More(night=1))  # wrong
    db.add(stay, More(nights="1"))  # wrong
    db.add(floor, More(nights=1))  # wrong
    db.add_or_create(floor, More(nights=1))  # wrong
    db.stays([1])  # wrong


def mistakes(db: House) -> None:
    db.flors("1")  # wrong
    db.floors(building="1")  # wrong
    db.floors(5)  # wrong
    table.request(House.floors, c="1")  # wrong
    Floor(b="1", f="2", nam="x")  # wrong
    with db.edit(db.floor, b="1", g="2") as floor:  # wrong
        pass
    with db.edit(db.floor, b="1", f="2") as floor:
        floor.nme = "x"  # wrong
    with db.edit(db.floor, b="1", f="2") as floor:
        floor.name = 5  # wrong
    for either in db.tree("1"):
        print(either.r)  # wrong
    with db.patch(db.floor, b="1", f="2") as floor:
        floor.nme = "x"  # wrong
    db.delete(db.floor, b="1", f=2)  # wrong
    db.transact(work, db, 1)  # wrong
    db.transact(work, db, "1").upper()  # wrong
"""
WRONG = {n for n, line in enumerate(MISTAKES.splitlines(), 1) if line.endswith("# wrong")}


def lines(output: str, file: str) -> set[int]:
    return {int(n) for n in re.findall(rf"{re.escape(file)}:(\d+)(?::\d+)?[: -]+error", output)}


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def mypy(*files: str) -> str:
    pytest.importorskip("mypy")
    return run(sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files)


def pyright(*files: str) -> str:
    program = shutil.which("pyright") or shutil.which("pyright", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("pyright is not installed")
    return run(program, "--pythonpath", sys.executable, *files)


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_the_examples_are_clean(checker: object) -> None:
    assert callable(checker)
    output = checker(*(str(EXAMPLES / f"{name}.py") for name in MODELS))
    assert "error" not in output.replace("0 errors", "")


def test_pyright_has_nothing_against_the_toolkit_itself() -> None:
    """pyright checks the declarations behind the calls; mypy checks the whole library anyway."""
    assert pyright(str(EXAMPLES.parent / "src" / "hashrange" / "design")).startswith("0 errors")


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_each_mistake_is_reported(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    file = tmp_path / "house.py"
    file.write_text(MISTAKES)
    assert lines(checker(str(file)), "house.py") == WRONG
