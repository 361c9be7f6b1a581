"""`design export --to electrodb`: the exported patterns answer as the toolkit's own do."""

import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import boto3
import pytest

from hashrange import design as st
from hashrange.design.declare.absent import encoder
from hashrange.design.declare.item import viewed
from hashrange.design.declare.patterns import Pattern
from hashrange.design.declare.types import utc_text
from hashrange.design.exchange.export import export
from hashrange.design.execute.connection import connect
from hashrange.design.execute.steps import run as run_steps
from hashrange.design.execute.store_steps import StoreSteps
from hashrange.design.execute.writes.verbs import Write
from hashrange.design.tools.proof.declared import Record
from hashrange.design.tools.proof.oracle import Oracle
from hashrange.design.tools.proof.questions import questions
from hashrange.design.tools.sample import sample

from .conftest import KEYS, Run

pytestmark = pytest.mark.foreign

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
MODELS = ["animals", "chat", "orders", "organisations", "sensors", "repositories", "tasks"]
MODELS += ["every_kind"]
TSC = ("npx", "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node")
ASKED = 8
"""How many questions of each pattern."""

REFUSED = "refused"
LEFT_OUT = [
    f"kinds: Kinds.{name} is left out: {reason}"
    for name, reason in {
        "by_month": "it reads several partitions, one for each unit of time (@st.buckets)",
        "old": "Old has upgrades, which are functions in Python",
        "one_of_shards": "it needs the number of a shard, which is computed with BLAKE2b",
        "near": "it reads by a prefix in the partition key",
        "like": "a computed field is a function in Python",
        "every_mark": "a scan of ElectroDB finds only items that ElectroDB wrote",
    }.items()
]


def example(name: str) -> ModuleType:
    folder = HERE if name == "every_kind" else EXAMPLES
    spec = importlib.util.spec_from_file_location(f"exported_{name}", folder / f"{name}.py")
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tables(module: ModuleType) -> list[st.Table]:
    return [value for value in vars(module).values() if isinstance(value, st.Table)]


def fill(table: st.Table, client: Any) -> Oracle:
    """Write a sample with the toolkit."""
    table.create(client)
    core, connection = StoreSteps(table.model, [], None, None), connect(client)
    oracle = Oracle([entity.model for entity in table.model.entities], [])
    for item in sample(table, parents=6, children=12):
        try:
            written = run_steps(core.write(Write("create", item)), connection)
        except (st.NotUnique, st.NotFound, st.BadValue):
            continue
        values = {name: getattr(written, name) for name in type(item).model_fields}
        oracle.records.append(Record(type(item), values))
    return oracle


def plain(value: Any) -> Any:
    """An argument as JSON."""
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value if isinstance(value, (str, int, bool)) else str(value)


def number(text: str) -> int | float:
    return int(text) if Decimal(text) == int(Decimal(text)) else float(text)


def content(value: Mapping[str, Any]) -> Any:
    """A stored value as JSON, as document clients show it; sets are sorted."""
    [(tag, inner)] = value.items()
    if tag == "N":
        return number(inner)
    if tag == "NS":
        return sorted(number(one) for one in inner)
    if tag in ("SS", "BS"):
        return sorted(inner)
    if tag == "L":
        return [content(one) for one in inner]
    return {name: content(one) for name, one in inner.items()} if tag == "M" else inner


def shown(table: st.Table, item: Any) -> dict[str, Any]:
    """Our own result, as an exported pattern shows it."""
    entity = table.model.entity(viewed(type(item)) if isinstance(item, st.View) else type(item))
    names = type(item).model_fields if isinstance(item, st.View) else entity.fields
    kinds = {name: entity.fields[name] for name in names}
    stored = {
        n: encoder(kind)(getattr(item, n))
        for n, kind in kinds.items()
        if getattr(item, n) is not None
    }
    return {entity.attributes[n]: content(v) for n, v in stored.items() if v is not None}


def answer(table: st.Table, db: Any, pattern: Pattern, arguments: Mapping[str, Any]) -> Any:
    try:
        found = getattr(db, pattern.name)(**arguments)
        if pattern.shape == "many":
            return [shown(table, item) for item in found]
    except st.BadValue:
        return REFUSED
    return shown(table, found) if isinstance(found, (st.Item, st.View)) else found


def asked(table: st.Table, oracle: Oracle) -> Iterator[tuple[Pattern, Mapping[str, Any]]]:
    models = [entity.model for entity in table.model.entities]
    chance = random.Random(7)
    for pattern in (p for patterns in table.patterns.values() for p in patterns):
        every = list(questions(pattern, oracle, models, chance))
        for arguments in chance.sample(every, min(ASKED, len(every))):
            yield pattern, arguments


class Question(NamedTuple):
    call: dict[str, Any]
    expected: Any


def prepared(name: str, folder: Path, client: Any) -> Iterator[Question | str]:
    """Export a model, write items, and yield questions with our answers, and what is left out."""
    for number, table in enumerate(tables(example(name))):
        exported = export(table, "electrodb")
        (folder / f"{name}{number}.ts").write_text(exported.text)
        yield from exported.warnings
        refused = {line.split(": ")[1].split(" is left out")[0] for line in exported.warnings}
        oracle = fill(table, client)
        stores = {owner: table.open(owner, client) for owner in table.patterns}
        opened = "open" + "".join(word.capitalize() for word in table.name.split("-"))
        for pattern, arguments in asked(table, oracle):
            if str(pattern) not in refused:
                args = {name: plain(value) for name, value in arguments.items()}
                call = {"module": f"{name}{number}", "open": opened, "method": pattern.name}
                found = answer(table, stores[pattern.owner], pattern, arguments)
                yield Question({**call, "args": args}, found)


def comparable(value: Any) -> Any:
    """Sets come in any order."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items()}
    if isinstance(value, list) and not any(isinstance(one, dict) for one in value):
        return sorted(value, key=str)
    return [comparable(one) for one in value] if isinstance(value, list) else value


def test_every_pattern_answers_as_ours_does(
    build: Callable[..., Path], run: Run, environment: dict[str, str]
) -> None:
    folder = build("javascript", "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
    exported = folder / "exported"
    exported.mkdir(exist_ok=True)
    client = boto3.client(
        "dynamodb",
        endpoint_url=environment["ENDPOINT"],
        region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )
    found = [one for name in MODELS for one in prepared(name, exported, client)]
    asked = [one for one in found if isinstance(one, Question)]
    (folder / "questions.json").write_text(json.dumps([one.call for one in asked]))
    run(folder, *TSC, *(f"exported/{file.name}" for file in exported.glob("*.ts")))
    run(folder, "node", "exported.mjs")
    answers = json.loads((folder / "answers.json").read_text())
    wrong = [
        (one.call, got, one.expected)
        for one, got in zip(asked, answers, strict=True)
        if comparable(REFUSED if "refused" in got else got.get("answer", got))
        != comparable(one.expected)
    ]

    assert not wrong
    assert [line for line in found if isinstance(line, str)] == LEFT_OUT
    assert sum(bool(one.expected) for one in asked) > len(asked) / 2
