"""The connections of a store: a hashrange database, a boto3 client, or an aiobotocore client.

A connection takes and returns values in wire form, and raises ApiFailure. It does not retry, and
has no timeout: both are left to the client.
"""

import inspect
from typing import Any

from hashrange.design.execute.steps import ApiFailure, AsyncConnection, Connection
from hashrange.design.execute.wire_client import ANSWER, Answer, from_client, to_client, wired
from hashrange.model.errors import ApiError


def connect(handed: Any, binary: bool = True, service: str = "dynamodb") -> Connection:
    """Connect to `handed`, a database or a boto3 client. Raises TypeError for anything else.

    If `binary` is False, binary values in responses are `bytes`, as in boto3; otherwise they are
    base64 text, as in wire form. `service` is the AWS service of the client.
    """
    if callable(getattr(handed, "execute", None)):
        return _Database(handed)
    _expect_client(handed, service)
    if _is_asynchronous(handed):
        raise TypeError("this client is asynchronous: use an st.AsyncStore")
    return _Client(handed, binary)


def connect_async(handed: Any) -> AsyncConnection:
    """Connect to `handed`, a database or an aiobotocore client; otherwise raises TypeError."""
    if callable(getattr(handed, "execute_async", None)):
        return _AsyncDatabase(handed)
    _expect_client(handed)
    if not _is_asynchronous(handed):
        raise TypeError(
            "this client would block the event loop: use an aiobotocore client, or an st.Store"
        )
    return _AsyncClient(handed)


def _expect_client(handed: Any, service: str = "dynamodb") -> None:
    meta = getattr(handed, "meta", None)
    if getattr(meta, "client", None) is not None:
        raise TypeError('a boto3 resource cannot be used: use session.client("dynamodb") instead')
    model = getattr(meta, "service_model", None)
    if model is None or model.service_name != service:
        raise TypeError(
            f"{type(handed).__name__} is neither a hashrange database nor a boto3 client for "
            f'DynamoDB: use hashrange.connect() or boto3.client("{service}")'
        )


def _is_asynchronous(client: Any) -> bool:
    return inspect.iscoroutinefunction(client._make_api_call)


def is_database(connection: Connection) -> bool:
    """Whether the connection is to a hashrange database, which has the stream operations too."""
    return isinstance(connection, _Database)


class _Database:
    def __init__(self, database: Any) -> None:
        self._execute = database.execute

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            response: dict[str, Any] = self._execute(operation, payload)
        except ApiError as error:
            raise _api_failure(error) from error
        return response


class _AsyncDatabase:
    def __init__(self, database: Any) -> None:
        self._execute = database.execute_async

    async def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            response: dict[str, Any] = await self._execute(operation, payload)
        except ApiError as error:
            raise _api_failure(error) from error
        return response


class _Client:
    def __init__(self, client: Any, binary: bool = True) -> None:
        wire = wired(client)
        self._binary = binary
        self._wired = wire is not None
        self._methods = _methods(wire or client)

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        answer = Answer()
        token = ANSWER.set(answer)
        try:
            response = self._methods[operation](**(payload if self._wired else to_client(payload)))
        except Exception as error:
            raise _client_failure(error) from error
        finally:
            ANSWER.reset(token)
        return _response(response, answer.wired or not self._binary)


class _AsyncClient(_Client):
    async def call(  # type: ignore[override]
        self, operation: str, payload: dict[str, Any]
    ) -> dict[str, Any]:
        answer = Answer()
        token = ANSWER.set(answer)
        try:
            response = await self._methods[operation](
                **(payload if self._wired else to_client(payload))
            )
        except Exception as error:
            raise _client_failure(error) from error
        finally:
            ANSWER.reset(token)
        return _response(response, answer.wired)


def _methods(client: Any) -> dict[str, Any]:
    mapping: dict[str, str] = client.meta.method_to_api_mapping
    return {operation: getattr(client, method) for method, operation in mapping.items()}


def _response(response: Any, as_it_is: bool) -> dict[str, Any]:
    """The response without its HTTP metadata, converted to wire form unless `as_it_is`."""
    response.pop("ResponseMetadata", None)
    plain: dict[str, Any] = response if as_it_is else from_client(response)
    return plain


def _api_failure(error: ApiError) -> ApiFailure:
    return ApiFailure(error.code, error.message, error, **error.members)


def _client_failure(error: Exception) -> ApiFailure:
    """The ApiFailure for a client's error. Only an error of DynamoDB's has a code."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict) or "Error" not in response:
        return ApiFailure("", str(error), error)
    described = response["Error"]
    plain = from_client({k: response.get(k) for k in ("Item", "CancellationReasons")})
    return ApiFailure(described.get("Code", ""), described.get("Message", ""), error, **plain)
