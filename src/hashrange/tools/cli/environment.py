"""Sets options from the environment: HASHRANGE_ADMIN_PORT has the same effect as `--admin-port`.

The command line takes precedence over the environment, and the environment over the default. An
empty value counts as unset, because compose files pass one for a variable that is not set.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hashrange.failing import fail
from hashrange.server import VARIABLES_PREFIX

VARIABLES = {"path": "HASHRANGE_DB", "keys": "HASHRANGE_KEYS_FILE"}
"""Maps arguments to their environment variables, where the names differ. The argument `keys` is
the name of a file, because the variable HASHRANGE_KEYS holds the keys themselves."""

ONLY_VARIABLES = ("HASHRANGE_KEYS", "HASHRANGE_ADMIN_TOKEN", "HASHRANGE_VOLUME")
"""The environment variables without an option. Secrets have no option, because other users can
read the arguments of a process. The volume is a property of a container's image."""

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def also_from_environment(parser: argparse.ArgumentParser) -> None:
    """Let variables set every argument of a command. Call this after all arguments are added."""
    run: Callable[..., None] = parser.get_default("run")
    actions = [action for action in parser._actions if action.dest != "help"]
    defaults = {action.dest: action.default for action in actions}
    for action in actions:
        action.default = None  # None shows that an argument was not given

    def completed(**options: Any) -> None:
        _warn_of_misspelt(os.environ, map(variable, actions))
        for action in actions:
            if options[action.dest] is None:
                text = os.environ.get(variable(action), "")
                options[action.dest] = _value(action, text) if text else defaults[action.dest]
        run(**options)

    parser.set_defaults(run=completed)


def variable(action: argparse.Action) -> str:
    return VARIABLES.get(action.dest, VARIABLES_PREFIX + action.dest.upper())


def _value(action: argparse.Action, text: str) -> Any:
    """The value of an argument; ends the process with one line if the text makes no sense."""
    name = variable(action)
    if action.nargs == 0:  # a flag
        if text.lower() not in (*_TRUE, *_FALSE):
            fail(f"{name}: {text!r} is neither 1 (or true, yes, on) nor 0 (or false, no, off)")
        return text.lower() in _TRUE
    if isinstance(action, argparse._AppendAction):
        return text.replace(",", " ").split()
    if action.choices is not None and text not in action.choices:
        fail(f"{name}: {text!r} is not one of {', '.join(action.choices)}")
    if not callable(action.type):
        return text
    try:
        return action.type(text)
    except argparse.ArgumentTypeError as error:
        fail(f"{name}: {error}")


def _warn_of_misspelt(environment: Mapping[str, str], known: Iterable[str]) -> None:
    """Warn of unknown variables that would otherwise be ignored silently."""
    names = (*known, *ONLY_VARIABLES)
    ours = (name for name in environment if name.startswith(VARIABLES_PREFIX))
    strange = sorted(name for name in ours if name not in names)
    if not strange:
        return
    from difflib import get_close_matches

    for name in strange:
        if meant := get_close_matches(name, names, n=1, cutoff=0.9):
            print(f"hashrange: {name} is ignored; did you mean {meant[0]}?", file=sys.stderr)
