"""DynamoDB Local's command line. In an image that replaces DynamoDB Local, `java` runs this module.

    java -Djava.library.path=./DynamoDBLocal_lib -jar DynamoDBLocal.jar -inMemory -sharedDb

Source: "DynamoDB local usage notes" of the developer guide. An option whose effect would differ is
refused with one line. An option without an effect on hashrange is ignored.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

FILE = "hashrange.db"
OUR_FILES = "hashrange*.db"
THEIR_FILES = "*_*.db", "shared-local-instance.db"
_WITH_VALUE = ("-port", "-dbPath", "-cors")
_FLAGS = ("-inMemory", "-sharedDb")
_IGNORED = ("-optimizeDbBeforeStartup", "-disableTelemetry")


def main() -> None:
    from hashrange.tools.cli import main as hashrange

    sys.argv = ["hashrange", *arguments(sys.argv[1:])]
    hashrange()


def arguments(words: Sequence[str]) -> list[str]:
    """The arguments of hashrange with the same effect as `java`'s arguments. If there are none,
    prints one line and ends the process."""
    options = dict(_options(iter(words)))
    if "-version" in options:
        return ["--version"]
    if "-help" in options:
        return ["serve", "--help"]
    place = _place(options)
    cors = [origin for origin in options.get("-cors", "").split(",") if origin]
    if "*" in cors:
        _fail("-cors *: name the origins of the web pages that may call the server")
    network = ["--host", "0.0.0.0", "--no-auth", "--port", options.get("-port", "8000")]
    named = [argument for origin in cors for argument in ("--cors", origin)]
    return ["serve", *place, "--like", "dynamodb-local", *network, *named]


def _options(words: Iterator[str]) -> Iterator[tuple[str, str]]:
    for argument in words:
        if argument == "-jar":
            next(words, None)
        elif argument in _WITH_VALUE:
            yield argument, next(words, None) or _fail(f"{argument} needs a value")
        elif argument in (*_FLAGS, "-version", "-help"):
            yield argument, ""
        elif not argument.startswith(("-D", "-X")) and argument not in _IGNORED:
            _fail(f"{argument}: unknown option of DynamoDB Local")


def _place(options: dict[str, str]) -> list[str]:
    """The arguments that name the database: a file, or nothing for a database in memory. Without
    -sharedDb, a folder with several files."""
    apart = [] if "-sharedDb" in options else ["--apart"]
    if "-inMemory" in options:
        if "-dbPath" in options:
            _fail("-inMemory and -dbPath cannot be combined")
        return apart
    folder = Path(options.get("-dbPath", "."))
    file = folder / FILE
    theirs = [path for form in THEIR_FILES for path in folder.glob(form)]
    if theirs and not any(folder.glob(OUR_FILES)):
        _fail(
            f"{theirs[0]} is a file of DynamoDB Local and was not changed: serve it with DynamoDB "
            f"Local again, and run hashrange copy http://... {file}"
        )
    return [str(folder), *apart] if apart else [str(file)]


def _fail(reason: str) -> NoReturn:
    sys.exit(f"hashrange: {reason}")


if __name__ == "__main__":
    main()
