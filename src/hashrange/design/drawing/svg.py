"""A small SVG writer: shapes and escaped text at given places, with the same bytes every time.

The width of text is estimated from its number of characters, so that a picture does not depend on
the fonts of the machine that draws it.
"""

import unicodedata
from xml.sax.saxutils import escape, quoteattr

MARGIN = 24.0
MONO, SANS, BOLD = 0.605, 0.58, 0.66
"""The widths of a character at font size 1. MONO is exact for most fonts, the others are means."""
PIECE_GAP = 12.0
SHOWN_MAX = 600
"""The largest number of characters of a value in a tooltip."""


def columns(text: str) -> int:
    """The number of character cells that a text takes: two for each wide East Asian character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cut(text: str, most: int) -> str:
    """The first `most` character cells of a text, with an ellipsis if some are left out."""
    if columns(text) <= most:
        return text
    short = text[: most - 1]
    while columns(short) > most - 1:
        short = short[:-1]
    return short + "…"


def printable(text: str) -> str:
    """The text in one line. Characters that are invisible or change its direction are escaped.

    XML forbids some of these characters.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    if character.isprintable() or character == " ":
        return character
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        character, f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


class Canvas:
    """Collects elements. The picture is large enough for all of them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.right = 0.0
        self.bottom = 0.0

    def _reach(self, x: float, y: float) -> None:
        self.right, self.bottom = max(self.right, x), max(self.bottom, y)

    def rect(
        self, x: float, y: float, width: float, height: float, style: str, round: float = 0
    ) -> None:
        self._reach(x + width, y + height)
        corner = f' rx="{_n(round)}"' if round else ""
        self.parts.append(
            f'<rect class="{style}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" '
            f'height="{_n(height)}"{corner}/>'
        )

    def line(self, x: float, y: float, x2: float, y2: float, style: str) -> None:
        self._reach(max(x, x2), max(y, y2))
        self.parts.append(
            f'<line class="{style}" x1="{_n(x)}" y1="{_n(y)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'
        )

    def path(self, data: str, style: str) -> None:
        self.parts.append(f'<path class="{style}" d="{data}"/>')

    def circle(self, x: float, y: float, radius: float, style: str) -> None:
        self._reach(x + radius, y + radius)
        self.parts.append(f'<circle class="{style}" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"/>')

    def text(
        self, x: float, y: float, content: str, style: str, *, size: float = 12, most: int = 0
    ) -> float:
        """Draw text with its baseline at `y`; returns its estimated width.

        A text of more than `most` characters is cut, and a tooltip shows the whole text.
        """
        whole = printable(content)
        shown = cut(whole, most) if most else whole
        tip = f"<title>{escape(cut(whole, SHOWN_MAX))}</title>" if shown != whole else ""
        width = text_width(shown, style, size)
        if "middle" in style:
            self._reach(x + width / 2, y)
        else:
            self._reach(x + width, y)
        self.parts.append(
            f'<text class="{style}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}">'
            f"{tip}{escape(shown)}</text>"
        )
        return width

    def run(self, x: float, y: float, *pieces: tuple[str, str, float]) -> None:
        """Draw pieces of (text, style, size). Each begins where the piece before it ends."""
        width, spans = 0.0, []
        for number, (content, style, size) in enumerate(pieces):
            shown = printable(content)
            gap = f' dx="{_n(PIECE_GAP)}"' if number else ""
            spans.append(
                f'<tspan class="{style}" font-size="{_n(size)}"{gap}>{escape(shown)}</tspan>'
            )
            width += text_width(shown, style, size) + PIECE_GAP
        self._reach(x + width, y)
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}">{"".join(spans)}</text>')

    def render(self, title: str, css: str) -> str:
        """The picture as an SVG document."""
        width, height = _n(self.right + MARGIN), _n(self.bottom + MARGIN)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" aria-label={quoteattr(printable(title))}>'
        )
        return "\n".join(
            [
                head,
                f"<title>{escape(printable(title))}</title>",
                f"<style>{css}</style>",
                f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def text_width(text: str, style: str, size: float) -> float:
    each = MONO if "mono" in style else BOLD if "bold" in style else SANS
    return columns(text) * size * each


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
