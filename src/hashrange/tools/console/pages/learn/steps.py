"""The common parts of the tour's steps: their order, and requests to the tour's database."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from hashrange.model.errors import ApiError
from hashrange.tools.console.visits import Mistake, Visit

if TYPE_CHECKING:
    from hashrange.database.database import Database

PATH = "/learn"


@dataclass(frozen=True)
class Step:
    name: str
    title: str
    about: str

    @property
    def path(self) -> str:
        return f"{PATH}/{self.name}"


STEPS = (
    Step("ring", "Where an item lies", "Items fall into a ring of partitions."),
    Step("reads", "A query and a scan", "What each of them reads and returns."),
    Step("writes", "What a write costs", "The table pays, and so does each index."),
    Step(
        "indexes",
        "Sparse and overloaded indexes",
        "One index for many questions, and one for few items.",
    ),
    Step("hot", "A hot key", "Why one key cannot be split."),
    Step("burst", "A burst", "Unused units are saved, spent, and saved again."),
    Step("split", "A split", "A split that helps, and one that cannot help."),
    Step(
        "behind",
        "An index that falls behind",
        "Its table refuses writes until the index catches up.",
    ),
    Step("stale", "A stale read", "Why you may not read your own write."),
    Step("collection", "A large item collection", "What 10 GB and a local index mean."),
)


def step(visit: Visit, name: str, **context: Any) -> Response:
    """The page of the step `name`, from the template with the same name."""
    at = next(number for number, each in enumerate(STEPS) if each.name == name)
    after = STEPS[at + 1] if at + 1 < len(STEPS) else None
    return visit.page(
        f"learn/{name}.html", steps=STEPS, step=STEPS[at], number=at + 1, after=after, **context
    )


def database(visit: Visit) -> "Database":
    opened = visit.console.target.database
    assert opened, "the tour must have its own database"
    return opened


def execute(visit: Visit, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run a request. Raises `Mistake` with the message of the API if it is refused."""
    try:
        return database(visit).execute(operation, request)
    except ApiError as error:
        raise Mistake(f"{error.code}: {error.message}") from None


def explain(visit: Visit, operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Explain what a request would read and cost. Raises `Mistake` if it would be refused."""
    try:
        explanation = database(visit).explain(operation, request)
    except ApiError as error:
        raise Mistake(f"{error.code}: {error.message}") from None
    if refused := explanation["error"]:
        raise Mistake(refused.get("message") or refused.get("Message", ""))
    return explanation
