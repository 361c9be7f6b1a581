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
PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "tests/clients/README.md": "project/client-tests.md",
}
"""For a file of the repository, its page."""

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
PAGES |= {f"examples/{name}": f"examples/{name.removesuffix('.py')}.md" for name in EXAMPLES}
PAGES["examples"] = "examples/index.md"

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")

_log = logging.getLogger("mkdocs.hooks.docs_site")


def on_files(files: Files, config: Any) -> Files:
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_content(name)))
    return files


def _content(name: str) -> str:
    if name == "examples":
        listed = "\n".join(f"- [examples/{each}]({each})" for each in EXAMPLES)
        return f"# Examples\n\nTheir Python runs in the folder `examples/`.\n\n{listed}\n"
    text = (ROOT / name).read_text()
    return text if name.endswith(".md") else f"# {name}\n\n```python\n{text}```\n"


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Let links to files of the repository lead to their pages."""
    origin = {there: here for here, there in PAGES.items()}.get(page.file.src_uri)
    folder = posixpath.dirname(origin or f"docs/{page.file.src_uri}")
    if origin == "examples":
        folder = origin

    def corrected(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        found = PAGES.get(target) or target.removeprefix("docs/")
        if not files.get_file_from_path(found):
            _log.warning("%s: %s has no page", page.file.src_uri, link[1])
        return posixpath.relpath(found, posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(corrected, markdown)
