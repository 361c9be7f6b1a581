"""The variables of serverless.yml: `${source:name, default}`.

They are resolved from the file itself, other files in its folder, and the environment. Values from
stacks, secrets, programs, and files outside the folder are not looked up. A variable for such a
value has its default, or is unresolved. Source: the "Variables" pages of the Serverless Framework's
documentation.
"""

import os
import re
from pathlib import Path
from typing import Any

from hashrange.declared import documents
from hashrange.declared.documents import Json, Unresolved
from hashrange.formats.items import DataError
from hashrange.model.caller import DEFAULT_ACCOUNT, DEFAULT_REGION

_INNERMOST = re.compile(r"\$\{\s*([a-z][A-Za-z0-9.-]*(?::(?!:)|\()[^${}]*)\}")
_EXPANSIONS_MAX = 10_000
_CHARACTERS_MAX = 100_000
_FILE = re.compile(r"file\(([^()]+\.(?:ya?ml|json))\)")
_MISSING = object()


class Variables:
    """Resolves the variables of one document in `folder`."""

    def __init__(self, document: Json, folder: Path) -> None:
        self._document = document
        self._folder = folder.resolve()
        self._files: dict[Path, Any] = {}
        self._expansions = 0
        self._active: set[str] = set()

    def resolved(self, value: Any) -> Any:
        """The value with its variables replaced.

        A text with an unresolved variable becomes an `Unresolved`.
        """
        if isinstance(value, dict):
            return {name: self.resolved(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.resolved(part) for part in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> Any:
        whole = text
        while match := _INNERMOST.search(text):
            self._expansions += 1
            if self._expansions > _EXPANSIONS_MAX or len(text) > _CHARACTERS_MAX:
                raise DataError(f"its variables expand without end: {whole[:80]}")
            value = self._variable(match[1])
            if value is _MISSING:
                return Unresolved(match[0])
            if match[0] == text and not isinstance(value, str):
                return value
            text = f"{text[: match.start()]}{value}{text[match.end() :]}"
        return text

    def _variable(self, text: str) -> Any:
        """The value of the first alternative in `text` that has a value; else `_MISSING`."""
        for alternative in map(str.strip, text.split(",")):
            value = self._without_circle(alternative)
            if value is not _MISSING and not isinstance(value, Unresolved):
                return value
        return _MISSING

    def _without_circle(self, alternative: str) -> Any:
        """The value of one alternative of a variable, such as `opt:stage` in `${opt:stage, 'dev'}`.

        An alternative that refers to itself has no value, so the next alternative is used. For
        example, `provider.stage` may be `${opt:stage, 'dev'}`, although the option `stage` has the
        value of `provider.stage`. But `sls:stage` is "dev" if it refers to itself.
        """
        if alternative in self._active:
            return "dev" if alternative == "sls:stage" else _MISSING
        self._active.add(alternative)
        try:
            return self.resolved(self._alternative(alternative))
        finally:
            self._active.remove(alternative)

    def _alternative(self, text: str) -> Any:
        if text[:1] in ("'", '"') and text[-1:] == text[0]:
            return text[1:-1]
        source, colon, name = text.partition(":")
        if not colon and not _FILE.fullmatch(text):
            return text if text and "(" not in text else _MISSING
        provider = self._document.get("provider")
        provider = provider if isinstance(provider, dict) else {}
        match source, name:
            case "self", _:
                return _at(self._document, name)
            case "param", _:
                return _at(self._document, f"params.default.{name}")
            case "env", _:
                return os.environ.get(name, _MISSING)
            case "sls", "stage":
                return provider.get("stage", "dev")
            case "opt", ("stage" | "region"):
                return provider.get(name, _MISSING)
            case "aws", "region":
                return provider.get("region", DEFAULT_REGION)
            case "aws", "accountId":
                return DEFAULT_ACCOUNT
        if file := _FILE.fullmatch(source):
            document = self._file(file[1])
            return _at(document, name) if name else document
        return _MISSING

    def _file(self, name: str) -> Any:
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder) or not path.is_file():
            return _MISSING
        if path not in self._files:
            self._files[path] = documents.read(path)
        return self._files[path]


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        if not isinstance(document, dict) or name not in document:
            return _MISSING
        document = document[name]
    return document
