"""Large writes: a partition may go into debt, and a table saves units that it does not use."""

from typing import NamedTuple

from simulated import Simulated

LARGE = "x" * (400 * 1024 - len("id0content"))
"""An attribute that makes an item 400 KB large, the maximum; a write takes 400 units."""

SAVING_SECONDS, LOAD_SECONDS = 300, 300
UNITS, LOAD_UNITS = 100, 400


class Write(NamedTuple):
    """The partition's credit before and after a write, and the reason if it was refused."""

    seconds: float
    before: float
    after: float
    reason: str | None


class Second(NamedTuple):
    """The credit of the table, and how many units were written and refused in this second."""

    seconds: float
    credit: float
    written: int
    refused: int


def four_writes() -> list[Write]:
    """Writes of 400 KB to one partition, which serves 1,000 units a second."""
    db = Simulated()
    db.create("documents", "id", read=1000, write=600)
    db.wait(60)  # the table saves units, so that only the partition can run out of them
    writes = []
    for number, pause in enumerate((0.1, 0.05, 0.05, 0.05, 0.2, 0.05)):
        db.wait(pause)
        seconds, before = round(db.seconds - 60, 3), _partition_credit(db)
        refused = db.put("documents", id=str(number), content=LARGE)
        reason = refused["reason"] if refused else None
        writes.append(Write(seconds, before, _partition_credit(db), reason))
    return writes


def _partition_credit(db: Simulated) -> float:
    [table] = db.inspect("documents")
    [partition] = table["partitions"]
    credit: float = partition["write_credit"]
    return credit


def burst() -> list[Second]:
    """A table of 100 units a second rests for 300 seconds, and then gets 400 units a second."""
    db = Simulated()
    db.create("documents", "id", read=100, write=UNITS)
    seconds = []
    for second in range(SAVING_SECONDS + LOAD_SECONDS):
        tries = LOAD_UNITS // 20 if second >= SAVING_SECONDS else 0
        content = "x" * (20 * 1024 - 100)
        refused = sum(
            db.put("documents", id=str(number), content=content) is not None
            for number in range(tries)
        )
        [table] = db.inspect("documents")
        credit = table["load"]["write_credit"]
        seconds.append(Second(second, credit, 20 * (tries - refused), 20 * refused))
        db.wait(1)
    return seconds


def main() -> None:
    for write in four_writes():
        told = f"refused: {write.reason}" if write.reason else "written"
        print(f"{write.seconds:5.2f} s  credit {write.before:6.0f} to {write.after:6.0f}  {told}")
    print()
    for second in burst()[::20]:
        print("{:5.0f} s  credit {:6.0f}  written {:4}  refused {:4}".format(*second))


if __name__ == "__main__":
    main()
