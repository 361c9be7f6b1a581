"""Clients of a bank, which remember every answer and check every read against them.

accounts    `balance` changes by transactions, which leave a receipt; `bank` moves them
counter     every client adds 1, and so do rivals
notes       each client writes its own, everybody reads them
"""

from collections.abc import Generator
from random import Random
from typing import Any

from bank import (
    ACCOUNTS,
    CREATE_INDEX,
    DELETE_INDEX,
    INCREMENT,
    INDEX,
    NOTES,
    OPENING,
    SCRATCH,
    TABLE,
    Ledger,
    check_end,
    create_table,
    key,
    n,
    open_bank,
    s,
)
from world import Process, Response, Violation, World

from hashrange.model.errors import (
    ApiError,
    InternalServerError,
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    TransactionCanceledException,
    ValidationException,
)
from hashrange.runtime.threaded.runtime import Runtime

Answer = Response | BaseException | None
Asked = Generator[tuple[str, Response], Any, None]
"""Requests; what is sent in return is an `Answer`."""


class Client:
    """`next(answer)` gives the next request, or None at the end."""

    def __init__(self, name: str, seed: int, ledger: Ledger) -> None:
        self.name = name
        self.random = Random(seed)
        self.ledger = ledger
        self._transfers = 0
        self._ending = False
        self._script = self._live()
        self._begun = False

    def next(self, answer: Answer) -> tuple[str, Response] | None:
        try:
            if self._begun:
                return self._script.send(answer)
            self._begun = True
            return next(self._script)
        except StopIteration:
            return None

    def end(self) -> None:
        """Finish running requests, check everything once more, and stop."""
        self._ending = True

    def _live(self) -> Asked:
        acts = [
            *[self._transfer, self._increment, self._note, self._read_any_note] * 3,
            *[self._audit, self._audit_index, self._move, self._batch, self._upkeep] * 2,
            *[self._accounts, self._change_index, self._scratch],
        ]
        while not self._ending:
            yield from self.random.choice(acts)()
        for note in self.ledger.notes:
            yield from self._read_note(note)
        yield from self._audit()

    # ---- what they do ----

    def _transfer(self) -> Asked:
        """Repeated with its token until there is an answer, it happens once or not at all."""
        ledger = self.ledger
        self._transfers += 1
        id_ = f"{self.name} {self._transfers}"
        one, other = self.random.sample(range(ACCOUNTS), 2)
        amount = self.random.randint(1, 60)
        ledger.transfers[id_] = (one, other, amount)
        values = {"ExpressionAttributeValues": {":amount": n(amount)}}
        take = (
            key("account", one)
            | values
            | {
                "UpdateExpression": "SET balance = balance - :amount",
                "ConditionExpression": "balance >= :amount",
            }
        )
        give = key("account", other) | values | {"UpdateExpression": "ADD balance :amount"}
        receipt = {"TableName": TABLE, "Item": key("receipt", id_)["Key"] | {"size": s("1")}}
        request = {
            "TransactItems": [{"Update": take}, {"Update": give}, {"Put": receipt}],
            "ClientRequestToken": id_,
        }
        while True:
            answer = yield "TransactWriteItems", request
            match answer:
                case TransactionCanceledException():
                    ledger.refused.add(id_)
                    return
                case None | InternalServerError():
                    continue
            self._expect(answer)
            ledger.acknowledged.add(id_)
            return

    def _increment(self) -> Asked:
        unknown = self.ledger.unknown_outcomes()
        answer = yield "UpdateItem", INCREMENT
        match answer:
            case None:
                self.ledger.perhaps_counted += 1
            case InternalServerError():
                if self.ledger.unknown_outcomes() > unknown:  # else nothing was written
                    self.ledger.perhaps_counted += 1
            case _:
                self._expect(answer)
                self.ledger.counted += 1

    def _note(self) -> Asked:
        yield from self._write_notes("PutItem", [self.random.randrange(NOTES)])

    def _batch(self) -> Asked:
        yield from self._write_notes("BatchWriteItem", list(range(NOTES)))

    def _write_notes(self, operation: str, numbers: list[int]) -> Asked:
        notes = [self.ledger.notes[self.name, number] for number in numbers]
        before = [note.tried for note in notes]
        items = []
        for number, note in zip(numbers, notes, strict=True):
            note.tried += 1
            size = {"size": s(str(note.tried % 7))} if self.random.random() < 0.7 else {}
            items.append(key(self.name, number)["Key"] | {"n": n(note.tried)} | size)
        request: Response = {"TableName": TABLE, "Item": items[0]}
        if operation == "BatchWriteItem":
            puts = [{"PutRequest": {"Item": item}} for item in items]
            request = {"RequestItems": {TABLE: puts}}
        unknown = self.ledger.unknown_outcomes()
        answer = yield operation, request
        if isinstance(answer, InternalServerError):
            if self.ledger.unknown_outcomes() == unknown:  # then nothing was written
                for note, tried in zip(notes, before, strict=True):
                    note.tried = tried
        elif answer is not None:
            self._expect(answer)
            for note in notes:
                note.written = note.tried

    def _read_any_note(self) -> Asked:
        yield from self._read_note(self.random.choice(list(self.ledger.notes)))

    def _read_note(self, which: tuple[str, int]) -> Asked:
        """Never older than what was acknowledged, or read by any client, before the request."""
        note = self.ledger.notes[which]
        least = max(note.written, note.seen)
        answer = yield "GetItem", key(*which)
        if not self._answered(answer):
            return
        found = int(answer["Item"]["n"]["N"]) if "Item" in answer else 0
        note.seen = max(note.seen, found)
        if not least <= found <= note.tried:
            raise Violation(f"{which} reads {found}, at least {least} and at most {note.tried}")

    def _move(self) -> Asked:
        account = key("account", self.random.randrange(ACCOUNTS))
        answer = yield (
            "UpdateItem",
            account
            | {
                "UpdateExpression": "SET bank = :bank",
                "ExpressionAttributeValues": {":bank": s(self.random.choice(["east", "west"]))},
            },
        )
        self._expect(answer, InternalServerError)

    def _change_index(self) -> Asked:
        request = self.random.choice([CREATE_INDEX, CREATE_INDEX, DELETE_INDEX])
        answer = yield "UpdateTable", request
        self._expect(
            answer,
            InternalServerError,
            LimitExceededException,
            ValidationException,
            ResourceNotFoundException,
            ResourceInUseException,
        )

    def _scratch(self) -> Asked:
        """A table that is created and deleted."""
        for operation, request in (
            ("CreateTable", create_table(SCRATCH)),
            ("PutItem", {"TableName": SCRATCH, "Item": key("a")["Key"] | {"size": s("1")}}),
            ("DeleteTable", {"TableName": SCRATCH}),
        ):
            answer = yield operation, request
            self._expect(
                answer, InternalServerError, ResourceInUseException, ResourceNotFoundException
            )

    def _upkeep(self) -> Asked:
        pending = yield "upkeep.Pending", {}
        if not self._answered(pending):
            return
        for step in pending["Steps"]:
            answer = yield step["Operation"], step["Body"]
            self._expect(answer, InternalServerError)

    # ---- what they check ----

    def _audit(self) -> Asked:
        """One page is one moment: all balances, and the receipts that account for them."""
        told, acknowledged = self.ledger.counted, set(self.ledger.acknowledged)
        answer = yield "Scan", {"TableName": TABLE}
        if not self._answered(answer):
            return
        rows: dict[str, dict[str, Response]] = {}
        for item in answer["Items"]:
            rows.setdefault(item["pk"]["S"], {})[item["sk"]["S"]] = item
        receipts = rows.get("receipt", {}).keys()
        if lost := acknowledged - receipts:
            raise Violation(f"acknowledged and lost: {sorted(lost)}")
        if done := self.ledger.refused & receipts:
            raise Violation(f"refused and done: {sorted(done)}")
        expected = [OPENING] * ACCOUNTS
        for id_ in receipts:
            one, other, amount = self.ledger.transfers[id_]
            expected[one] -= amount
            expected[other] += amount
        found = [int(rows["account"][str(at)]["balance"]["N"]) for at in range(ACCOUNTS)]
        if found != expected:
            raise Violation(f"balances are {found}, by the receipts {expected}")
        self._check_counter(rows, told)

    def _check_counter(self, rows: dict[str, dict[str, Response]], told: int) -> None:
        counter = rows.get("counter", {}).get("-", {"n": n(0)})
        found = int(counter["n"]["N"])
        ledger = self.ledger
        under_way = 100  # increments that clients are making just now
        if not told <= found <= ledger.counted + ledger.perhaps_counted + under_way:
            raise Violation(f"{told} increments were acknowledged, the counter is {found}")

    def _audit_index(self) -> Asked:
        """Every account is in the index once, if there is an index."""
        answer = yield "Scan", {"TableName": TABLE, "IndexName": INDEX}
        if isinstance(answer, ValidationException) or not self._answered(answer):
            return
        found = [item["sk"]["S"] for item in answer["Items"]]
        if sorted(found) != [str(at) for at in range(ACCOUNTS)]:
            raise Violation(f"the index has the accounts {sorted(found)}")
        total = sum(int(item["balance"]["N"]) for item in answer["Items"])
        if total != ACCOUNTS * OPENING:
            raise Violation(f"the index has {total} in all")

    def _accounts(self) -> Asked:
        gets = [{"Get": key("account", at)} for at in range(ACCOUNTS)]
        answer = yield "TransactGetItems", {"TransactItems": gets}
        if self._answered(answer):
            total = sum(int(found["Item"]["balance"]["N"]) for found in answer["Responses"])
            if total != ACCOUNTS * OPENING:
                raise Violation(f"a transaction reads {total} in all")

    # ---- answers ----

    def _answered(self, answer: Any) -> bool:
        """True if a read was answered; a failed store and a dead process are not answers."""
        self._expect(answer, InternalServerError)
        return isinstance(answer, dict)

    def _expect(self, answer: Answer, *errors: type[ApiError]) -> None:
        if isinstance(answer, BaseException) and not isinstance(answer, errors):
            raise Violation(f"{self.name} was told {answer!r}")


def simulate(
    seed: int, steps: int = 1500, clients: int = 5, kind: type[Process] = Process
) -> World:
    """Raises Violation with the seed if something did not hold."""
    world = World(seed, kind)
    names = [f"client {number}" for number in range(clients)]
    ledger = Ledger(names, world.unknown_outcomes)

    def rival(runtime: Runtime) -> None:
        world.call("UpdateItem", INCREMENT)
        ledger.counted += 1

    try:
        open_bank(world)
        world.rival_writes = rival
        live = {name: Client(name, world.random.randrange(1 << 30), ledger) for name in names}
        world.run(live, steps)
        check_end(world, ledger)
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    finally:
        world.close()
    return world
