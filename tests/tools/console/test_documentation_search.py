"""The search of the documentation when the site is opened from a folder, in a real browser."""

import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
SHIM = Path(__file__).parents[3] / "docs/javascripts/iframe-worker.js"
PAGE = """<!doctype html><title>asking</title><body>
<script src="iframe-worker.js"></script>
<script>
  const worker = new Worker("worker.js")
  worker.addEventListener("message", (event) => (document.title = event.data.answer))
  worker.postMessage({ question: "partition" })
</script>"""
WORKER = """addEventListener("message", (event) =>
  postMessage({ answer: `${event.data.question} found` }))"""


def test_a_page_in_a_folder_talks_to_its_worker(browser: Any, tmp_path: Path) -> None:
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "index.html").write_text(PAGE)
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_function("document.title == 'partition found'")
    page.close()
