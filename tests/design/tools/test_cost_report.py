"""Money, storage, advice and refusals of the cost tool."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line

from hashrange import design as st
from hashrange.design.tools.cost.price_list import prices_of
from hashrange.model.values import item_size

from ..models import GET_A, A, model, patterns
from ..test_examples import EXAMPLES, example

pytestmark = pytest.mark.slow

WEIGHED = EXAMPLES / "weighed"
RATED = "@st.rate(2)\n" + GET_A
NUMBERS = (
    ", volumes=st.volumes(A=st.total(1_000_000, size=1000)), recovery=True, backups=2, stream=True,"
    " writes=[st.writes(A, create=3, edit=('x',), rate=4)]"
)
GB = 1024**3
MONTH = 730 * 3600


def rated() -> st.Table:
    return model(A + patterns(RATED, table=NUMBERS))


def test_money_is_units_times_prices() -> None:
    cost = st.cost(rated())
    reads, writes = (2 * 0.5 + 4 * 1) * MONTH, (3 + 4) * MONTH
    stored = 1_000_000 * 1100 / GB
    fixed = stored * (0.25 + 0.2 + 2 * 0.1) + 4 * MONTH / 100_000 * 0.02
    assert cost.on_demand_usd == pytest.approx(reads / 1e6 * 0.125 + writes / 1e6 * 0.625 + fixed)
    assert cost.capacity == {"table": (8, 10)}  # 5 and 7 units a second, used by 70 %
    hourly = 8 * 0.00013 + 10 * 0.00065
    assert cost.provisioned_usd == pytest.approx(hourly * 730 + fixed)
    assert st.cost(rated(), utilisation=1).capacity == {"table": (5, 7)}


def test_the_largest_items_come_with_advice() -> None:
    largest = st.cost(rated()).largest
    assert [expense.name for expense in largest] == ["edit A: x", "create A", "P.a"]
    assert all(expense.advice for expense in largest)


def test_advice_fits_its_cause() -> None:
    table = example("weighed/chat_copy").table
    advice = {expense.name: expense.advice for expense in st.cost(table).largest}
    assert "make it a transaction" in advice["create Membership"]


def test_every_number_names_its_source() -> None:
    text = str(st.cost(model(A + patterns(GET_A))))
    assert "P.a: estimate: each A has the size of an example" in text
    assert "not declared: rate of P.a" in text
    assert "not declared: number of A" in text
    assert "unconfirmed" in text
    data = json.loads(st.cost(rated()).json())
    assert all(line["notes"] for line in [*data["calls"], *data["storage"]])
    assert all(data["prices"][n]["source"] for n in data["prices"] if n != "date")
    assert data["estimate"] is True


def test_storage_counts_entries_overheads_and_markers() -> None:
    text = A.replace(
        "pass", "i = st.index('GSI1', 'x#{x}', project='KEYS_ONLY'); u = st.unique('{x}')"
    )
    table = model(text + patterns(GET_A, table=", volumes=st.volumes(A=st.total(10, size=500))"))
    example = table.model.entities[0].model.model_validate({"id": "1", "x": "abc"})
    stored = {(line.entity, line.source): line.size for line in
              st.cost(table, examples=[example]).storage}  # fmt: skip
    raw = table.dump(example)
    entry = {name: raw[name] for name in ("pk", "sk", "GSI1-pk")}
    marker: dict[str, Any] = {
        "pk": {"S": "unique#{x}#abc"},
        "sk": {"S": "unique"},
        "entityType": {"S": "unique"},
        "owner": {"M": {"pk": raw["pk"], "sk": raw["sk"]}},
    }
    assert stored == {
        ("A", "table"): 10 * 600,
        ("A", "GSI1"): 10 * (item_size(entry) + 100),
        ("A markers", "table"): 10 * (item_size(marker) + 100),
    }


def test_prices_can_be_replaced(tmp_path: Path) -> None:
    ours = Path(str(prices_of.__globals__["__file__"])).parent / "prices" / "us-east-1.toml"
    file = tmp_path / "mine.toml"
    file.write_text(ours.read_text().replace("usd = 0.625", "usd = 6.25").replace("us-east-1", "x"))
    mine = st.cost(rated(), prices=file)
    assert mine.prices.region == "x"
    assert mine.usd_of(mine.line("create A")) == pytest.approx(10 * 3 * MONTH / 1e6 * 0.625)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("[backups]", "[back_ups]"), "backups is missing"),
        (lambda text: text.replace("usd = 0.25", "usd = x"), "mine.toml: "),
        (lambda text: text.replace("usd = 0.25", "usd = -1"), '"usd" must be at least 0'),
    ],
)
def test_a_wrong_price_file(change: Callable[[str], str], message: str, tmp_path: Path) -> None:
    ours = Path(str(prices_of.__globals__["__file__"])).parent / "prices" / "us-east-1.toml"
    file = tmp_path / "mine.toml"
    file.write_text(change(ours.read_text()))
    with pytest.raises(st.NoPrices, match=message):
        prices_of("us-east-1", file)


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return command_line("design", "cost", *arguments)


def test_the_command() -> None:
    model = WEIGHED / "chat_copy.py"
    assert "edit User: username with 8 copies" in command(model).stdout
    assert "price of storage: $0.25 for 1 GB months" in command(model).stdout
    assert "provisioned" not in command(model, "--mode", "on-demand").stdout.split("price of")[0]
    data = json.loads(command(model, "--json").stdout)
    assert data[0]["table"] == "chat"
    both = command(model, WEIGHED / "chat_follow.py")
    assert both.stdout.startswith("A: chat_copy\nB: chat_follow\n")
    assert len(json.loads(command(model, WEIGHED / "chat_follow.py", "--json").stdout)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--region", "us-east-11"), "no prices for us-east-11 (known: us-east-1)"),
        (("--prices", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("--utilisation", "0"), "the utilisation must be above 0 and at most 1"),
    ],
)
def test_refusals_of_the_command(arguments: tuple[str, ...], message: str) -> None:
    done = command(WEIGHED / "chat_copy.py", *arguments)
    assert done.returncode == 1
    assert not done.stdout
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_write_that_is_not_possible_is_a_note() -> None:
    table = model(A + patterns(GET_A, table=", writes=[st.writes(A, edit=('id',), rate=1)]"))
    [note] = [n for n in st.cost(table).line("edit A: id").notes if "not known" in n]
    assert "cannot change" in note
