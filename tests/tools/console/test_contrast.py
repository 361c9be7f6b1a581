"""The contrast of the palette, computed: at least what WCAG AA asks for."""

import re
from pathlib import Path

import pytest

import hashrange.tools.console

STYLES = Path(hashrange.tools.console.__file__).parent / "static" / "console.css"
TEXT, PARTS = 4.5, 3.0
"""WCAG 2.2, 1.4.3 (text) and 1.4.11 (the edges of what can be used, and the focus)."""

BACKS = ("page", "panel", "raised", "hover")
PAIRS = [
    *((ink, back, TEXT) for ink in ("text", "muted", "link") for back in BACKS),
    *((f"c{n}", back, TEXT) for n in range(10) for back in (f"c{n}-back", "panel", "hover")),
    *((ink, f"{ink}-back", TEXT) for ink in ("danger", "good", "warn")),
    *((ink, back, TEXT) for ink in ("danger", "good", "warn") for back in ("page", "panel")),
    ("button-text", "button", TEXT),
    *((edge, back, PARTS) for edge in ("edge", "focus") for back in ("page", "panel")),
]


def palette() -> dict[str, tuple[str, str]]:
    """The light and the dark colour of each property."""
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", STYLES.read_text())
    return {name: (light, dark) for name, light, dark in found}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("ink", "back", "least"), PAIRS)
def test_contrast(ink: str, back: str, least: float) -> None:
    colours = palette()
    for scheme in (0, 1):
        assert contrast(colours[ink][scheme], colours[back][scheme]) >= least


def test_colours_are_properties() -> None:
    """A colour elsewhere would not follow the theme."""
    rules = re.sub(r"--[\w-]+: light-dark\(.*?\);", "", STYLES.read_text())
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=[^{}]*;)", rules) == []


def test_the_contrast_of_black_and_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
