"""A tour step: an overloaded index answers many questions, a sparse index has few items."""

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from hashrange.tools.console.pages.learn.steps import PATH, database, execute, explain, step
from hashrange.tools.console.shapes import Item
from hashrange.tools.console.tour import ORDERS, new_order
from hashrange.tools.console.visits import Mistake, Route, Visit, writes

TABLE, INDEX = "animals", "index1"
SHOP, SPARSE = "shop", "unfulfilled"


@dataclass(frozen=True)
class Question:
    text: str
    pk: str
    start: str
    end: str = ""
    """The end of a BETWEEN on the sort key. If it is empty, `begins_with` is used instead."""

    @property
    def condition(self) -> str:
        if self.end:
            return f"BETWEEN '{self.start}' AND '{self.end}'"
        return f"begins_with '{self.start}'"


QUESTIONS = {
    "sit": Question("Which dogs sit?", "animals", "dog:command:sit:"),
    "dogs": Question("Which dogs know which commands?", "animals", "dog:"),
    "cats": Question("Which cats climb which trees?", "animals", "cat:treeclimbed:"),
    "parrots": Question(
        "Which parrots know 2 to 150 words?",
        "animals",
        "parrot:words:000002",
        "parrot:words:000150:~",
    ),
    "london": Question("Which addresses are in London?", "addresses", "London:"),
    "westminster": Question("And in Westminster?", "addresses", "London:Westminster:"),
}


def show(visit: Visit) -> Response:
    asked = visit.parameters.get("question", "")
    if asked and asked not in QUESTIONS:
        raise Mistake("Choose a question from the list.")
    answer = _ask(visit, QUESTIONS[asked]) if asked else None
    return step(
        visit,
        "indexes",
        questions=QUESTIONS,
        asked=asked,
        answer=answer,
        entries=_entries(visit),
        animals=_counts(visit, TABLE, INDEX),
        orders=_orders(visit),
        shop=_counts(visit, SHOP, SPARSE),
    )


def turn(visit: Visit) -> Response:
    """Mark an open order as shipped, or a shipped order as open."""
    order = next((each for each in ORDERS if each[2] == visit.parameters.get("order")), None)
    if order is None:
        raise Mistake("There is no such order.")
    now = {each["order"]: each["status"] for each in _orders(visit)}[order[2]]
    item = new_order(*order[:3], "shipped" if now == "open" else "open")
    execute(visit, "PutItem", {"TableName": SHOP, "Item": item})
    return visit.go(f"{PATH}/indexes#sparse")


def _ask(visit: Visit, question: Question) -> dict[str, Any]:
    values = {":pk": {"S": question.pk}, ":start": {"S": question.start}}
    condition = "begins_with(index1sk, :start)"
    if question.end:
        condition = "index1sk BETWEEN :start AND :end"
        values[":end"] = {"S": question.end}
    request = {
        "TableName": TABLE,
        "IndexName": INDEX,
        "KeyConditionExpression": f"index1pk = :pk AND {condition}",
        "ExpressionAttributeValues": values,
    }
    told = explain(visit, "Query", request)
    items = execute(visit, "Query", request)["Items"]
    return {**told, "question": question, "keys": {item["index1sk"]["S"] for item in items}}


def _entries(visit: Visit) -> list[Item]:
    """All entries of the overloaded index, by partition key and in the order of the index."""
    items: list[Item] = execute(visit, "Scan", {"TableName": TABLE, "IndexName": INDEX})["Items"]
    return sorted(items, key=lambda item: item["index1pk"]["S"])


def _orders(visit: Visit) -> list[dict[str, str]]:
    """The orders as they are now, each with its sort key in the sparse index, if any."""
    shown = []
    for customer, placed, order, _ in ORDERS:
        key = {"pk": {"S": f"customer#{customer}"}, "sk": {"S": f"order#{placed}#{order}"}}
        item = execute(visit, "GetItem", {"TableName": SHOP, "Key": key}).get("Item", {})
        entry = item.get("unfulfilled-sk", {}).get("S", "")
        shown.append({
            "order": order,
            "status": item.get("status", {}).get("S", "deleted"),
            "entry": entry,
        })  # fmt: skip
    return shown


def _counts(visit: Visit, table: str, index: str) -> dict[str, Any]:
    [state] = database(visit).inspect(table)
    entries = next(each for each in state["indexes"] if each["name"] == index)
    return {"table": state["items"], "index": entries["items"], "bytes": entries["bytes"]}


ROUTES = (Route(f"{PATH}/indexes", show), writes(f"{PATH}/indexes", turn))
