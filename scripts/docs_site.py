"""Hooks of mkdocs: they put files from outside `docs/` into the site, and correct links to them.

The pages are written to be read in the repository too, where they link to files such as
`../examples/sensors.py`. In the site each of these files is a page of its own.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
MARK = ROOT / "src/hashrange/tools/console/static/icon.svg"
PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "clients/npm/README.md": "project/javascript.md",
    "tests/clients/README.md": "project/client-tests.md",
}
"""For a file of the repository, its page."""

LANGUAGES = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".json": "json", ".toml": "toml"}


def _found() -> dict[str, str]:
    """For each file and folder of the examples, its page."""
    pages = {"examples": "examples/index.md"}
    for path in sorted((ROOT / "examples").rglob("*")):
        name = str(path.relative_to(ROOT))
        if path.is_dir() and path.name != "__pycache__":
            pages[name] = f"{name}/index.md"
        elif path.is_file() and path.suffix != ".pyc":
            pages[name] = f"{name}.md"
    return pages


PAGES |= {**_found(), "Dockerfile": "project/Dockerfile.md", "compose.yaml": "project/compose.md"}

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")

_log = logging.getLogger("mkdocs.hooks.docs_site")


def on_files(files: Files, config: Any) -> Files:
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_content(name)))
    files.append(File.generated(config, "mark.svg", content=MARK.read_text()))
    return files


def _content(name: str) -> str:
    path = ROOT / name
    if path.is_dir():
        listed = [each for each in PAGES if posixpath.dirname(each) == name]
        links = "\n".join(f"- [{each}]({posixpath.basename(each)})" for each in listed)
        return f"# {name}/\n\n{links}\n"
    text = path.read_text()
    if path.suffix == ".md":
        return text
    return f"# {name}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text}````\n"


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Let links to files of the repository lead to their pages."""
    origin = {there: here for here, there in PAGES.items()}.get(page.file.src_uri)
    folder = posixpath.dirname(origin or f"docs/{page.file.src_uri}")
    if origin and (ROOT / origin).is_dir():
        folder = origin

    def corrected(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        source = PAGES.get(target) or target.removeprefix("docs/")
        if not files.get_file_from_path(source):
            _log.warning("%s: %s has no page", page.file.src_uri, link[1])
        return posixpath.relpath(source, posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(corrected, markdown)
