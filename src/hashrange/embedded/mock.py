"""`hashrange.mock()`: answers DynamoDB requests in this process and sends none elsewhere.

    with hashrange.mock() as database: ...

    @hashrange.mock()
    def test_orders(): ...

While a mock is open, three methods of botocore and aiobotocore are changed:

- The method that sends a request answers it, or raises `MockError`.
- The method that gets a response for DynamoDB ignores the handlers of other mocks, such as moto's.
- The method that signs a request uses dummy credentials if the client has none.

Because methods of the classes are changed, clients that were created earlier are mocked too, and so
are clients of other threads.
"""

import atexit
import contextlib
import copy
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from threading import Lock
from typing import Any, TypeVar, cast, overload

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.httpsession import URLLib3Session
from botocore.signers import RequestSigner

from hashrange.clients import boto
from hashrange.database.connecting import connect
from hashrange.database.database import Database
from hashrange.embedded.mock_classes import mock_class
from hashrange.model.caller import DEFAULT_REGION
from hashrange.model.settings import Settings
from hashrange.runtime.mistaken_calls import check_database

__all__ = ["Mock", "MockError", "mock"]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_SERVICES = ("dynamodb", "dynamodbstreams")
_OWN_FILES = (__file__, contextlib.__file__)


class MockError(RuntimeError):
    """No mock answers a request, or a mock was opened twice or never closed."""


class Mock:
    """A context manager and a decorator. Call `mock` to create one."""

    def __init__(self, database: boto.Database | None, region: str, access: Any = None) -> None:
        self.region = region
        self.opened_at: str | None = None
        self._given = database
        self._access = access
        self._database: boto.Database | None = None

    @property
    def database(self) -> boto.Database:
        """The database that answers while the mock is open."""
        assert self._database
        return self._database

    def __enter__(self) -> Database:
        with _lock:
            if self.opened_at:
                raise MockError(
                    f"this hashrange.mock(), opened at {self.opened_at}, is still open; "
                    "call hashrange.mock() again for a second one"
                )
            self._database = self._given or connect(
                region=self.region, settings=Settings(access=self._access)
            )
            self.opened_at = _line_of_the_caller()
            if not _open:
                _install(self.region)
            _open.append(self)
        return cast(Database, self._database)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with _lock:
            if self not in _open:
                raise MockError("this hashrange.mock() is not open")
            inner = _open[_open.index(self) + 1 :]
            _open.remove(self)
            if not _open:
                _uninstall()
            self.opened_at = None
        if self._given is None:
            cast(Database, self._database).close()
        self._database = None
        if inner and kind is None:
            raise MockError(f"the hashrange.mock() opened at {inner[0].opened_at} is still open")

    def start(self) -> Database:
        """Open the mock without a `with` statement; `stop` closes it."""
        return self.__enter__()

    def stop(self) -> None:
        """Close the mock, and also its database if the mock created it."""
        self.__exit__(None, None, None)

    def __call__(self, target: T) -> T:
        """Decorate a function, a coroutine, a generator or a test class.

        Each call of a function, and each test of a class, has its own mock. The database of this
        mock is empty, unless `mock` was called with a database.
        """
        if inspect.isclass(target):
            mock_class(target, self._another)
            return cast(T, target)
        if inspect.isfunction(target):
            return cast(T, _mocked(target, self._another))
        raise TypeError(
            "hashrange.mock() decorates functions and test classes, not "
            f"{target!r}; it belongs below decorators such as @pytest.fixture and @staticmethod"
        )

    def _another(self) -> "Mock":
        return Mock(self._given, self.region, self._access)


@overload
def mock(
    database: boto.Database | None = None, *, region: str = DEFAULT_REGION, access: Any = None
) -> Mock: ...


@overload
def mock(database: F) -> F: ...


def mock(database: Any = None, *, region: str = DEFAULT_REGION, access: Any = None) -> Any:
    """Answer the requests of all DynamoDB and streams clients of boto3, aiobotocore and aioboto3.

    Use it in a `with` statement, which gives the database, or as a decorator, with or without
    parentheses. `database` answers the requests; the default is a new database in memory, which is
    closed at the end. If several mocks are open, the one opened last answers. A client of another
    service raises `MockError`, unless a mock of that service answers it, such as `moto.mock_aws()`.
    Nothing is sent. If the environment has no region or access key, dummies are set until the mock
    is closed. `access` is the path of an access file, which says what each access key may do.

    Returns a `Mock`, or the decorated object.
    """
    if inspect.isfunction(database) or inspect.isclass(database):
        return Mock(None, region)(database)
    check_database("mock", database)
    if access is not None and database is not None:
        raise TypeError("pass access= or a database with an access file in its settings, not both")
    return Mock(database, region, access)


def _mocked(function: Callable[..., Any], another: Callable[[], Mock]) -> Callable[..., Any]:
    """A function that runs `function` while a mock is open. `another` makes a mock for each call.

    For a coroutine function the result is a coroutine function, and for a generator function a
    generator function, because test runners treat these kinds differently.
    """

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with another():
            return function(*arguments, **named)

    @wraps(function)
    async def coroutine(*arguments: Any, **named: Any) -> Any:
        with another():
            return await function(*arguments, **named)

    @wraps(function)
    def generator(*arguments: Any, **named: Any) -> Any:
        with another():
            return (yield from function(*arguments, **named))

    @wraps(function)
    async def async_generator(*arguments: Any, **named: Any) -> Any:
        with another():
            async with contextlib.aclosing(function(*arguments, **named)) as values:
                async for value in values:
                    yield value

    if inspect.iscoroutinefunction(function):
        return coroutine
    if inspect.isasyncgenfunction(function):
        return async_generator
    return generator if inspect.isgeneratorfunction(function) else call


# ---- the mocks that are open ----

_lock = Lock()
_open: list[Mock] = []
_restore: list[Callable[[], object]] = []


def open_mocks() -> list[Mock]:
    """The open mocks, in the order in which they were opened."""
    return list(_open)


def _line_of_the_caller() -> str:
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename in _OWN_FILES:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@atexit.register
def _name_those_left_open() -> None:
    for left in _open:
        print(f"hashrange.mock() opened at {left.opened_at} was never closed", file=sys.stderr)


def _install(region: str) -> None:
    dummies = {"AWS_DEFAULT_REGION": region}
    if "AWS_ACCESS_KEY_ID" not in os.environ:
        dummies |= {"AWS_ACCESS_KEY_ID": boto.DUMMY, "AWS_SECRET_ACCESS_KEY": boto.DUMMY}
    for name, value in dummies.items():
        if name not in os.environ:
            os.environ[name] = value
            _restore.append(partial(os.environ.pop, name, None))
    # A default session that is created while the mock is open would keep the dummy variables.
    _restore.append(partial(setattr, boto3, "DEFAULT_SESSION", boto3.DEFAULT_SESSION))
    _replace(URLLib3Session, "send", _sending)
    _replace(Endpoint, "_do_get_response", lambda method: _responding(method, list))
    _replace(RequestSigner, "sign", lambda method: _signing(method, Credentials))
    with contextlib.suppress(ImportError):
        _install_async()


def _install_async() -> None:
    """Change the methods of aiobotocore. Raises ImportError if it is not installed."""
    load = importlib.import_module
    credentials = load("aiobotocore.credentials").AioCredentials
    endpoint, signer = load("aiobotocore.endpoint"), load("aiobotocore.signers")
    _replace(
        endpoint.AioEndpoint, "_do_get_response", lambda method: _responding(method, _async_list)
    )
    _replace(signer.AioRequestSigner, "sign", lambda method: _signing(method, credentials))
    _replace(load("aiobotocore.httpsession").AIOHTTPSession, "send", _sending_async)
    _replace(load("aiobotocore.httpxsession").HttpxSession, "send", _sending_async)


def _uninstall() -> None:
    while _restore:
        _restore.pop()()


def _replace(owner: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Change a method until the last mock is closed.

    If other code has changed the method by then, our method stays in place, but only calls the
    original.
    """
    original = getattr(owner, name)
    ours = wraps(original)(change(original))
    setattr(owner, name, ours)

    def restore() -> None:
        if getattr(owner, name) is ours:
            setattr(owner, name, original)

    _restore.append(restore)


# ---- one request ----


def _answer(request: AWSPreparedRequest, mock: Mock) -> AWSResponse:
    if boto.target(request) is None:
        raise MockError(
            f"{request.method} {request.url.partition('?')[0]} was not sent: hashrange.mock() "
            "answers DynamoDB only; answer other services with their own mock, such as "
            "moto.mock_aws()"
        )
    caller_of = partial(boto.signed_caller, mock.database, mock.region)
    return boto.answer(mock.database, request, caller_of)


def _sending(method: Any) -> Any:
    def send(session: Any, request: AWSPreparedRequest) -> AWSResponse:
        latest = _open[-1:]
        return _answer(request, latest[0]) if latest else method(session, request)

    return send


def _sending_async(method: Any) -> Any:
    from hashrange.clients.aioboto import awaited_response

    async def send(session: Any, request: AWSPreparedRequest) -> Any:
        latest = _open[-1:]
        if not latest:
            return await method(session, request)
        return awaited_response(_answer(request, latest[0]))

    return send


async def _async_list() -> list[Any]:
    return []


class _PastOtherMocks:
    """The events of an endpoint, without `before-send`, the event that other mocks answer."""

    def __init__(self, events: Any, nothing: Callable[[], Any]) -> None:
        self._events = events
        self._nothing = nothing

    def emit(self, event: str, **named: Any) -> Any:
        if event.startswith("before-send."):
            return self._nothing()
        return self._events.emit(event, **named)


def _responding(method: Any, nothing: Callable[[], Any]) -> Any:
    def respond(endpoint: Any, request: Any, operation: Any, context: dict[str, Any]) -> Any:
        # A client of `Database.boto3_session` keeps its own database.
        if (
            _open
            and operation.service_model.service_name in _SERVICES
            and boto.IN_PROCESS not in context
        ):
            endpoint = copy.copy(endpoint)
            endpoint._event_emitter = _PastOtherMocks(endpoint._event_emitter, nothing)
        return method(endpoint, request, operation, context)

    return respond


def _signing(method: Any, dummy: Callable[[str, str], Any]) -> Any:
    def sign(signer: Any, *arguments: Any, **named: Any) -> Any:
        if _open and signer._credentials is None:
            signer = copy.copy(signer)
            signer._credentials = dummy(boto.DUMMY, boto.DUMMY)
        return method(signer, *arguments, **named)

    return sign
