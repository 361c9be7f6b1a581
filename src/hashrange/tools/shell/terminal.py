"""The shell at a terminal: the prompt, its keys, and results one screen at a time."""

import shutil
from collections.abc import Callable

from prompt_toolkit import PromptSession, prompt
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent

from hashrange.tools.shell.commands import Commands, Quit
from hashrange.tools.shell.completion import ShellCompleter
from hashrange.tools.shell.faults import Failed
from hashrange.tools.shell.history import History, state_folder
from hashrange.tools.shell.session import Session
from hashrange.tools.shell.splitting import TooLong, entries, is_complete, is_select
from hashrange.tools.shell.values import printable

PROMPT = "hashrange> "
CONTINUED = "      ...> "
_LINES_AROUND = 6
"""The number of lines of a screen that show no items but a header, questions and the prompt."""
_ROWS_MIN = 5


class Pager:
    """Shows one result, one screen at a time (`session.Screen`)."""

    def __init__(self) -> None:
        self._asks = True

    def rows(self) -> int:
        return max(_ROWS_MIN, shutil.get_terminal_size().lines - _LINES_AROUND)

    def more(self) -> bool:
        if not self._asks:
            return True
        answer = ask("-- more? Enter: next, a: all, q: stop -- ")
        self._asks = answer != "a"
        return answer in ("", "a", "y")


def ask(question: str) -> str:
    """The user's answer in lower case; "q" for Ctrl-D.

    The answer is read key by key. With `input`, Ctrl-C would have no effect until the next line if
    a thread of the database got its signal.
    """
    try:
        return prompt(question).strip().lower()
    except EOFError:
        return "q"


def confirm(question: str) -> bool:
    return ask(question) in ("y", "yes")


def interact(session: Session) -> None:
    """Read and run statements until Ctrl-D or .quit."""
    history = History(state_folder() / "history")
    commands = Commands(session, history)
    session.screen = Pager
    reader: PromptSession[str] = PromptSession(
        history=history,
        completer=ShellCompleter(session.catalog, list(commands.by_name)),
        complete_in_thread=True,
        complete_while_typing=False,
        enable_history_search=True,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, line, wrapped: CONTINUED,
    )
    _greet(session, history)
    try:
        _loop(lambda: reader.prompt(PROMPT), commands, session.say)
    finally:
        commands.close()


def _loop(read: Callable[[], str], commands: Commands, say: Callable[[str], None]) -> None:
    while True:
        try:
            text = read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        try:
            _run(text, commands, say)
        except Quit:
            return


def _run(text: str, commands: Commands, say: Callable[[str], None]) -> None:
    """Run the statements that were entered, up to the first error."""
    running = ""
    try:
        for entry in entries(f"{line}\n" for line in text.split("\n")):
            running = entry.text
            commands.run(running)
    except (Failed, TooLong) as error:
        say(f"{error}")
    except KeyboardInterrupt:
        harmless = running.startswith(".") or is_select(running)
        say("interrupted" if harmless else "interrupted; the statement may have been carried out")


def _greet(session: Session, history: History) -> None:
    print(f"{printable(session.target.name)}. A statement ends with `;`, .help lists the commands.")
    if history.on:
        print(
            f"Statements, with the values in them, are kept in {printable(str(history.path))}; "
            ".history off ends this."
        )


def _keys() -> KeyBindings:
    """The keys of the prompt: Enter runs a complete entry, or begins a new line."""
    keys = KeyBindings()

    @Condition
    def complete() -> bool:
        buffer = get_app().current_buffer
        return buffer.document.is_cursor_at_the_end and is_complete(buffer.text)

    @keys.add("enter", filter=complete)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
