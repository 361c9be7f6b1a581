"""Models of forty patterns give the answers of plain lists, after writes of every kind."""

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest

import hashrange
from hashrange import design as st
from hashrange.design.declare.known_values import known_values
from hashrange.design.declare.patterns import Argument
from hashrange.design.errors import AlreadyExists, BadValue, EmptyBuckets, NotUnique

from . import fleet, helpdesk

WRITES, QUESTIONS, SEED = 500, 20, 7
FROM_ONE = 0.7
"""How often all arguments come from one item, so that it fits."""
START = datetime(2023, 11, 28, 22, tzinfo=UTC)
TEXTS = ("a1", "a12", "ab2", "b1", "b-1")
CELLS = ("u33a", "u33ab", "u33b", "u4x1")
IDS = tuple(f"{a}{n}" for a in "abc" for n in range(7))
MAILS = ("a@x.de", "b@x.de", "a@y-z.de")
State = dict[tuple[type, str], Any]


def value_of(model: type[st.Item], name: str, chance: random.Random) -> Any:
    entity = TABLES[model].model.entity(model)
    kind = entity.fields[name]
    known = known_values(kind)
    if kind.optional and chance.random() < 0.2:
        return None
    if known:
        return chance.choice(known)
    day = START + timedelta(days=chance.choice((0, 3, 33, 40, 64, 130, 200)))
    makers: dict[Any, Any] = {
        str: lambda: chance.choice(
            {"email": MAILS, "cell": CELLS, "ticket_id": IDS, "slug": IDS}.get(name, TEXTS)
        ),
        int: lambda: chance.randint(-3 if name == "score" else 1, 5),
        Decimal: lambda: Decimal(chance.randint(0, 30)) / 10,
        date: day.date,
        datetime: lambda: day + timedelta(
            hours=chance.choice((0, 1, 5)), microseconds=chance.choice((0, 1))
        ),
        set[str]: lambda: set(chance.sample(TEXTS, 2)),
    }  # fmt: skip
    return makers[kind.python]()


def made(model: type[st.Item], chance: random.Random) -> st.Item:
    return model(**{name: value_of(model, name, chance) for name in model.model_fields})


def identity(item: st.Item) -> tuple[type, str]:
    entity = TABLES[type(item)].model.entity(type(item))
    return type(item), repr(sorted(str(v) for v in entity.primary_key(vars(item)).items()))


def write(db: Any, items: State, model: type[st.Item], chance: random.Random) -> None:
    """One write; `items` follows it only if it succeeds."""
    old = chance.choice([item for item in items.values() if type(item) is model] or [None])
    way = chance.choice(("put", "create", "create", "save", "delete", "move", "transaction"))
    new = made(model, chance)
    try:
        if old is None or way in ("put", "create"):
            getattr(db, way if old is not None else "create")(new)
            items[identity(new)] = new
        elif way == "delete":
            db.delete(old)
            del items[identity(old)]
        elif way == "move":
            moved = db.move(old.replace(**new.model_dump()))
            del items[identity(old)]
            items[identity(moved)] = moved
        else:
            entity = TABLES[model].model.entity(model)
            fixed = entity.inputs(entity.key_fields)
            changed = old.replace(**{n: v for n, v in new.model_dump().items() if n not in fixed})
            if way == "save":
                changed = db.save(changed)
            else:
                with db.transaction() as together:
                    together.save(changed)
            items[identity(changed)] = changed
    except (AlreadyExists, NotUnique, BadValue):
        return


def asked(argument: Argument, model: type[st.Item], items: list[Any], chance: random.Random) -> Any:
    if argument.operator == "shard":
        return chance.randrange(4)
    if argument.field not in model.model_fields:  # a condition or a computed field
        names = {"tag": TEXTS, "region": "ab", "domain": ("x-de", "y-z-de")}
        return chance.choice(names[argument.field])
    values = [getattr(item, argument.field) for item in items]
    values = [v if v is not None else TEXTS[0] for v in values]
    if argument.python is date:
        values = [v.date() if isinstance(v, datetime) else v for v in values]
    if argument.operator == "between":
        return tuple(sorted(values))
    if argument.operator == "any of":
        return values
    if argument.operator == "begins with":
        return values[0][: chance.choice((1, 3, 9))]
    return values[0]


def answer(told: helpdesk.Answer, items: State, given: list[Any]) -> Any:
    classes, fits, order, what = told
    found = [item for item in items.values() if type(item) in classes and fits(item, *given)]
    if what == helpdesk.COUNT:
        return len(found)
    if order is not None:
        found.sort(key=order, reverse=what in (helpdesk.LATEST, helpdesk.LAST))
    if what in (helpdesk.FIRST, helpdesk.LAST):
        return found[0] if found else None
    return found if order is not None else sorted(found, key=repr)


def read(db: Any, name: str, told: helpdesk.Answer, given: list[Any]) -> Any:
    found = getattr(db, name)(*given)
    if told[3] not in (helpdesk.MANY, helpdesk.LATEST):
        return found
    pages, cursor = [], None
    while True:
        page = found.page(3, cursor)
        pages += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == list(found)
    return pages if told[2] is not None else sorted(pages, key=repr)


def same(found: Any, wanted: Any) -> bool:
    """Views are compared with the fields that they show."""
    if isinstance(found, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, st.View):
        return all(getattr(wanted, n) == v for n, v in vars(found).items())
    return bool(found == wanted)


MODULES = (helpdesk, fleet)
TABLES = {entity.model: m.table for m in MODULES for entity in m.table.model.entities}


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_pattern_answers_as_plain_lists_do(module: ModuleType) -> None:
    compare(module, SEED)


def compare(module: ModuleType, seed: int) -> None:
    table, chance = module.table, random.Random(seed)
    [protocol] = table.protocols
    assert len(table.plans) >= 40
    database = hashrange.connect()
    table.create(database)
    db = table.open(protocol, database)
    items: State = {}
    models = [entity.model for entity in table.model.entities]
    for _ in range(WRITES):
        write(db, items, chance.choice(models), chance)
    silent = set()
    for name, told in module.ANSWERS.items():
        pattern = next(p for p in table.patterns[protocol] if p.name == name)
        known = [item for item in items.values() if type(item) is told[0][0]]
        shown = 0
        for _ in range(QUESTIONS if pattern.arguments and known else not pattern.arguments):
            one, other = chance.choice(known), chance.choice(known)
            pair = [one, other] if chance.random() < FROM_ONE else [other, one]
            given = [asked(a, told[0][0], pair, chance) for a in pattern.arguments]
            if chance.random() > FROM_ONE and given:
                odd = chance.randrange(len(given))
                given[odd] = asked(pattern.arguments[odd], told[0][0], pair[::-1], chance)
            wanted = answer(told, items, given)
            try:
                found = read(db, name, told, given)
            except (BadValue, EmptyBuckets):
                continue  # a longer range, a shorter prefix, or older items that are not reached
            assert same(found, wanted), f"seed {seed}: {name}{given}: {found} instead of {wanted}"
            shown += bool(wanted)
        if not shown:
            silent.add(name)
    assert not silent, f"nothing was shown by {silent}"


def test_workers_share_the_queue() -> None:
    database = hashrange.connect()
    helpdesk.table.create(database)
    db = helpdesk.table.open(helpdesk.Desk, database)
    chance = random.Random(3)
    tickets = {t.ticket_id: t for t in (made(helpdesk.Ticket, chance) for _ in range(9))
               if isinstance(t, helpdesk.Ticket)}  # fmt: skip
    for ticket in tickets.values():
        db.put(ticket)
    found = [ticket for worker in range(4) for ticket in db.of_worker(worker)]
    assert {t.ticket_id: t for t in found} == tickets
    assert len(found) == len(tickets)
