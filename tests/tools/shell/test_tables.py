"""Items as a table."""

import io
from typing import Any

from rich.console import Console

from hashrange.tools.shell.tables import columns_of, lay_out, print_table


def shown(items: list[dict[str, Any]], width: int, key: tuple[str, ...] = ()) -> list[str]:
    file = io.StringIO()
    print_table(Console(file=file, width=width), columns_of(items, key), items, key)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_key_attributes_come_first_then_the_others_by_name() -> None:
    items = [{"b": {"N": "1"}, "sk": {"S": "x"}}, {"a": {"N": "2"}, "pk": {"S": "y"}}]
    assert columns_of(items, ("pk", "sk", "absent")) == ["pk", "sk", "a", "b"]


def test_numbers_are_on_the_right() -> None:
    items = [{"n": {"N": text}, "s": {"S": "a"}} for text in ("5", "100")]
    assert shown(items, 40) == ["  n  s", "──────", "  5  a", "100  a"]


def test_markup_of_the_library_is_text() -> None:
    items = [{"[red]a[/red]": {"S": "[bold]x[/bold] :smile:"}}]
    assert shown(items, 80)[0] == "[red]a[/red]"
    assert shown(items, 80)[2] == "'[bold]x[/bold] :smile:'"


def test_columns_that_do_not_fit_are_named() -> None:
    items = [{f"a{number}": {"S": "x" * 30} for number in range(9)}]
    lines = shown(items, 50)
    assert max(map(len, lines)) <= 50
    assert lines[-1] == "not shown for lack of room: a3, a4, a5, a6, a7, a8"


def test_the_widths_fit() -> None:
    layout = lay_out(["a", "b"], [["x" * 50, "y" * 5]], 40)
    assert layout.shown == [("a", 33), ("b", 5)]
    assert lay_out(["a"], [["日本" * 30]], 20).shown == [("a", 20)]
    assert lay_out(["a", "b"], [["x" * 50, "y"]], 5) == ([("a", 5)], ["b"])


def test_wide_letters_are_counted_as_the_terminal_shows_them() -> None:
    items = [{"a": {"S": text}, "b": {"S": "x"}} for text in ("日本語", "abc")]
    lines = shown(items, 40)
    assert lines[2] == "日本語  x"
    assert lines[3] == "abc     x"


def test_an_item_of_many_attributes() -> None:
    item = {f"name-{number:05}": {"S": "x"} for number in range(10_000)}
    lines = shown([item], 80)
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith("…")
