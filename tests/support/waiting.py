"""Waiting in tests for what happens in another thread, process or task."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.runtime.awaited.runtime import AsyncRuntime
    from hashrange.runtime.threaded.runtime import Runtime

SECONDS_MAX = 120.0
"""Enough on any machine: a test that waits so long has failed. The one limit of all tests."""

_PAUSE_SECONDS = 0.005


def wait_until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not happened():
        assert time.monotonic() < end
        time.sleep(_PAUSE_SECONDS)


async def wait_until_async(happened: Callable[[], object]) -> None:
    """The same, in turns of the event loop."""
    async with asyncio.timeout(SECONDS_MAX):
        while not happened():
            await asyncio.sleep(_PAUSE_SECONDS)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run it on a new event loop, which ends with it."""
    asyncio.run(asyncio.wait_for(scenario(), SECONDS_MAX))


def wait_for_indexes(runtime: "Runtime | AsyncRuntime") -> None:
    """Wait until global indexes that are updated from a log show all changes."""
    wait_until(lambda: not any(each.lag_seconds for each in runtime.capacities()))
