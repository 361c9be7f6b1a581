"""A console over a database, asked by plain HTTP or in a headless Chromium."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

import hashrange
from console.asking import Browserless, Open
from hashrange.tools.console import Console, serving
from hashrange.tools.target import Target, target_of

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
