"""hashrange ping"""

import os
from time import perf_counter
from typing import TYPE_CHECKING

from hashrange.database.addresses import printed
from hashrange.failing import fail
from hashrange.tools.cli.commands import command, database_name, opened

if TYPE_CHECKING:
    from hashrange.tools.cli.commands import Commands

SECONDS_MAX = 5.0
_SHOWN_BYTES_MAX = 200


def add(commands: "Commands") -> None:
    parser = command(commands, ping)
    parser.add_argument(
        "db",
        metavar="DB",
        help="a server's URL, e.g. http://127.0.0.1:8000, a path of its admin port, "
        "e.g. http://127.0.0.1:9000/readyz, a database file, or postgresql://...",
    )


def ping(db: str) -> None:
    """Check that a server answers or a database can be opened. Exit status 1 if not."""
    began = perf_counter()
    if db.startswith(("http://", "https://")):
        answer = _ask(db)
    else:
        with opened(database_name(db)) as database:
            database.execute("ListTables", {"Limit": 1})
        answer = "opens"
    print(f"{printed(db)}: {answer} ({(perf_counter() - began) * 1000:.1f} ms)")


def _ask(url: str) -> str:
    """The body of the server's answer to a GET of the URL, if its status is 200."""
    from http.client import HTTPException
    from ssl import create_default_context
    from urllib.error import HTTPError
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    try:
        trusted = create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE") or None)
        # Ignore proxies: the request must reach this server.
        opener = build_opener(ProxyHandler({}), HTTPSHandler(context=trusted))
        with opener.open(url, timeout=SECONDS_MAX) as response:
            return _shown(response.read(_SHOWN_BYTES_MAX))
    except HTTPError as error:
        fail(f"{url}: status {error.code}: {_shown(error.read(_SHOWN_BYTES_MAX))}")
    except TimeoutError:
        fail(f"{url}: no answer within {SECONDS_MAX:g} seconds")
    except OSError as error:
        reason = getattr(error, "reason", error)  # a URLError has the cause as its reason
        fail(f"{url}: {getattr(reason, 'strerror', None) or reason}")
    except (HTTPException, ValueError) as error:
        fail(f"{url}: {type(error).__name__}: {error}")


def _shown(body: bytes) -> str:
    return "".join(filter(str.isprintable, body.decode("utf-8", "replace"))).strip()
