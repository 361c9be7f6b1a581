"""A console over a database, asked by plain HTTP or in a headless Chromium."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from waiting import SECONDS_MAX

import hashrange
from console.asking import Browserless, Open, Window
from hashrange.tools.console import Console, searching, serving
from hashrange.tools.target import Target, target_of

WIDE = {"width": 1280, "height": 800}
REQUIRED = "HASHRANGE_REQUIRE_BROWSER"


@pytest.fixture
def db() -> Iterator[hashrange.Database]:
    with hashrange.connect() as database:
        yield database


@pytest.fixture
def of_db(db: hashrange.Database) -> Target:
    return target_of(db, "a database")


@pytest.fixture
def client(of_db: Target) -> Any:
    return of_db.client


@pytest.fixture
def opened(of_db: Target) -> Iterator[Open]:
    """Start a console of `db`; with write=True one that may write."""
    with ExitStack() as stack:

        def start(write: bool = False, **changed: Any) -> Browserless:
            console = Console(replace(of_db, **changed), write=write)
            return Browserless(stack.enter_context(serving(console)))

        yield start


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search sends one request in each round."""
    monkeypatch.setattr(searching.search, "__defaults__", (0.0,))


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A headless Chromium, for playwright. Skipped if there is none, unless it is required."""
    path = chromium()
    if path is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, and there is no chromium")
        pytest.skip("there is no chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def window(browser: Any, console: Browserless) -> Iterator[Window]:
    """A window of the module's console. An error that one of its pages reports fails the test."""
    context = browser.new_context(viewport=WIDE)
    window = Window(context.new_page(), console)
    window.page.set_default_timeout(1000 * SECONDS_MAX)
    window.page.goto(console.url)
    yield window
    context.close()


@pytest.fixture(autouse=True)
def _nothing_is_reported(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "window" in request.fixturenames:
        window = request.getfixturevalue("window")
        window.page.set_viewport_size(WIDE)
        assert window.reported() == []
