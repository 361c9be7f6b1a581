"""The colours and fonts of the pictures, in a light and a dark form."""

ENTITY_COLOURS = (
    ("#1f6fd1", "#6cb0ff"),
    ("#b3530b", "#f0a35e"),
    ("#2b7f3b", "#74c983"),
    ("#8a3fc0", "#c79bf2"),
    ("#b32b53", "#f58aa8"),
    ("#0f7c80", "#57c7c9"),
    ("#7a6210", "#d8bd55"),
    ("#4b56c9", "#a3abff"),
    ("#a1308f", "#ee8fdc"),
    ("#5b6470", "#aab4c0"),
)
"""The colours of the entities in turn, as (light theme, dark theme), all readable as text."""

_LIGHT = {
    "paper": "#ffffff", "ink": "#1c2128", "muted": "#59636e", "rule": "#d1d9e0",
    "cell": "#f6f8fa", "bad": "#b3261e",
}  # fmt: skip
_DARK = {
    "paper": "#12161c", "ink": "#e6edf3", "muted": "#9aa5b1", "rule": "#3a434e",
    "cell": "#1b222b", "bad": "#ff8f88",
}  # fmt: skip

_FIXED = """\
text{font-family:system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;white-space:pre}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.bold{font-weight:600}
.middle{text-anchor:middle}
.end{text-anchor:end}
.hole{fill:none;stroke-dasharray:3 3}
.line{fill:none;stroke-width:1.5}
.tint{fill-opacity:.13}
.band{fill-opacity:.9}
"""


def css() -> str:
    """The style sheet of every picture."""
    light, dark = "\n".join(_theme(_LIGHT, 0)), "\n".join(_theme(_DARK, 1))
    return f"{_FIXED}{light}\n@media(prefers-color-scheme:dark){{\n{dark}\n}}"


def _theme(colours: dict[str, str], form: int) -> list[str]:
    c = colours
    rules = [
        f".paper{{fill:{c['paper']}}}",
        f".ink{{fill:{c['ink']}}}.muted{{fill:{c['muted']}}}.bad{{fill:{c['bad']}}}",
        f".cell{{fill:{c['cell']};stroke:{c['rule']}}}.box{{fill:{c['paper']};stroke:{c['rule']}}}",
        f".rule{{stroke:{c['rule']}}}.hole{{stroke:{c['muted']}}}",
        f".mark{{stroke:{c['ink']};stroke-width:1.5;fill:none}}",
        f".disc{{fill:{c['ink']}}}.number{{fill:{c['paper']}}}",
        f".dot{{fill:{c['ink']}}}.ring{{fill:{c['paper']};stroke:{c['ink']};stroke-width:1.5}}",
        f".badline{{stroke:{c['bad']};fill:none}}",
    ]
    for number, pair in enumerate(ENTITY_COLOURS):
        rules.append(f".e{number}{{fill:{pair[form]}}}.l{number}{{stroke:{pair[form]}}}")
    return rules


def entity_class(number: int) -> str:
    """The CSS class that fills shapes with the n-th entity's colour."""
    return f"e{number % len(ENTITY_COLOURS)}"


def line_class(number: int) -> str:
    """The CSS class of lines in the n-th entity's colour."""
    return f"l{number % len(ENTITY_COLOURS)}"
