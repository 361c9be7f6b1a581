"""Draw the pictures in docs/pictures, which the pages show: of the models in examples/, of the
figures in docs/benchmarks.md, of a terminal, and of what examples/partitions measures.

python scripts/draw_pictures.py            write them
python scripts/draw_pictures.py --check    exit 1 if they differ from what would be written
python scripts/draw_pictures.py --quick    leave out those of measured loads
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from svg_speed import speed
from svg_terminal import terminal

from hashrange import design as st

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
DRAWN = {
    "shop": ("table", ("patterns", "table")),
    "sensors": ("table", ("entities", "patterns", "table", "GSI1", "GSI3")),
    "chat": ("table", ("entities", "table", "gs1")),
    "organisations": ("projects", ("table", "by_last_updated", "by_owner")),
    "orders": ("table", ("entities", "table", "unfulfilled")),
    "animals": ("table", ("index1", "index2")),
    "repositories": ("table", ("entities", "GSI2")),
    "tasks": ("table", ("entities", "GSI2")),
}
"""By example: the table that is drawn, and its views."""


def pictures(*, quick: bool) -> dict[Path, str]:
    sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples" / "partitions")]
    drawn = {}
    for name, (attribute, views) in DRAWN.items():
        table: st.Table = getattr(import_module(name), attribute)
        for view in views:
            drawn[PICTURES / f"{name}-{view}.svg"] = st.draw(table, view)
    drawn[PICTURES / "speed.svg"] = speed(ROOT / "docs" / "benchmarks.md")
    drawn[PICTURES / "terminal.svg"] = terminal(ROOT / "examples" / "shop.py")
    for module in ("svg_boxes", "svg_migration", *(() if quick else ("svg_load",))):
        for name, picture in import_module(module).pictures().items():
            drawn[PICTURES / f"{name}.svg"] = picture
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--quick", action="store_true", help="leave out those of measured loads")
    arguments = parser.parse_args()
    for path, picture in pictures(quick=arguments.quick).items():
        if arguments.check and (not path.exists() or path.read_text() != picture):
            sys.exit(f"{path.relative_to(ROOT)} is not up to date: run scripts/draw_pictures.py")
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(picture)


if __name__ == "__main__":
    main()
