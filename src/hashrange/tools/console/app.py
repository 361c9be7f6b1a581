"""The console's application: the routes of all pages, behind the guard."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.routing import Route as Routing
from starlette.staticfiles import StaticFiles

from hashrange import amounts
from hashrange.runtime.mistaken_calls import Closed
from hashrange.tools.console import values
from hashrange.tools.console.console import Console, ReadOnly
from hashrange.tools.console.pages import PAGES
from hashrange.tools.console.security import CSRF_FIELD, CSRF_HEADER, Guard, log_mistake, same
from hashrange.tools.console.visits import (
    Mistake,
    Page,
    Route,
    Visit,
    address,
    fields,
    table_path,
)
from hashrange.tools.console.ways import Ways, lit

BODY_BYTES_MAX = 8 * 2**20
"""The largest size of a form. A form contains an item before and after a change, each up to 400 KB
and percent-encoded."""

HERE = Path(__file__).parent

READ_ONLY = "This console is read-only. Start it with --write to change items."


def application(console: Console, port: int, token: str) -> Guard:
    """The ASGI application of a console that is served at a port of the loopback address."""
    pages = [page for page in PAGES if page.shown(console)]
    environment = _environment(console, pages)
    guard: Guard
    answering = _Answering(console, environment, lambda: guard.csrf)
    routes: list[Routing | Mount] = [
        Routing(route.path, answering.endpoint(route), methods=[route.method])
        for page in pages
        for route in page.routes
    ]
    routes.append(Mount("/static", StaticFiles(directory=HERE / "static")))
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: answering.no_page},
    )
    guard = Guard(app, port, token)
    return guard


class _Compiled(BytecodeCache):
    """A cache of the compiled templates, shared by all consoles of the process."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _Compiled()


def _environment(console: Console, pages: list[Page]) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        bytecode_cache=_COMPILED,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": values.shown,
        "size": amounts.size,
        "moment": amounts.moment,
        "cell": values.cell,
    }
    environment.globals |= {
        "console": console,
        "pages": [page for page in pages if page.title],
        "table_path": table_path,
        "address": address,
        "cell": values.cell_markup,
        "cursor": values.cursor,
        "Ways": Ways,
        "lit": lit,
        "dumps": values.dumps,
        "CSRF_FIELD": CSRF_FIELD,
        "CSRF_HEADER": CSRF_HEADER,
    }
    return environment


class _Answering:
    """Turns routes into endpoints. Pages run in threads, because boto3's clients block."""

    def __init__(self, console: Console, environment: Environment, csrf: Callable[[], str]) -> None:
        self._console = console
        self._environment = environment
        self._csrf = csrf

    def endpoint(self, route: Route) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visit = self._visit(request, request.query_params)
            if route.method == "POST":
                try:
                    form = fields(await _body(request))
                except Mistake as mistake:
                    return _problem(visit, mistake.status, str(mistake))
                visit = self._visit(request, form)
                token = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, "")
                if not same(token, self._csrf()):
                    text = "The form is not from this console, or the console was restarted."
                    return _problem(visit, 403, text)
            return await run_in_threadpool(_answer, route, visit)

        return answer

    async def no_page(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        visit = self._visit(request, request.query_params)
        text = "There is no such page." if error.status_code == 404 else error.detail
        return await run_in_threadpool(_problem, visit, error.status_code, text)

    def _visit(self, request: Request, parameters: "ImmutableMultiDict[str, str]") -> Visit:
        return Visit(
            self._console,
            self._environment,
            request.url,
            request.path_params,
            parameters,
            self._csrf(),
            request.headers,
        )


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            raise Mistake("The form is too large.", 413)
    return bytes(body)


def _answer(route: Route, visit: Visit) -> Response:
    """The page, or an error page that gives the reason. User input is not logged."""
    try:
        return route.show(visit)
    except ReadOnly:
        return _problem(visit, 403, READ_ONLY)
    except (Mistake, values.ValueMistake) as mistake:
        return _problem(visit, getattr(mistake, "status", 400), str(mistake))
    except ClientError as error:
        return _refused(visit, error)
    except ParamValidationError as error:
        return _problem(visit, 400, " ".join(str(error).splitlines()[1:]))
    except (BotoCoreError, Closed) as error:
        text = f"{visit.console.target.name} does not answer ({type(error).__name__})."
        return _problem(visit, 502, text)
    except Exception as error:
        log_mistake(error)
        return _problem(visit, 500, f"The console has a bug here ({type(error).__name__}).")


def _refused(visit: Visit, error: ClientError) -> Response:
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    table = visit.path.get("table")
    if code == "ResourceNotFoundException" and table:
        return _problem(visit, 404, f"There is no table {table}, or it has just been deleted.")
    return _problem(visit, 400, f"{code}: {message}")


def _problem(visit: Visit, status: int, text: str) -> Response:
    return visit.page("problem.html", status, status_=status, text=text)
