"""The end of the tour: how to begin with a table of your own."""

from importlib.resources import files

from starlette.responses import Response

from hashrange.tools.console.pages.learn.steps import PATH, STEPS
from hashrange.tools.console.visits import Route, Visit


def model() -> str:
    """The source of the model in `first_model`, without its module docstring."""
    text = (files(__package__) / "first_model.py").read_text(encoding="utf-8")
    return text.partition("\n\n")[2]


def show(visit: Visit) -> Response:
    return visit.page("learn/ending.html", steps=STEPS, model=model())


ROUTES = (Route(f"{PATH}/ending", show),)
