"""The connections of a store: a hashrange database, a boto3 client, or an aiobotocore client.

Each takes and returns values in wire form and raises `ApiFailure`. Retries and timeouts are left
to the client.
"""

import base64
import inspect
from typing import Any

from hashrange.design.execute.steps import ApiFailure, AsyncConnection, Connection
from hashrange.model.errors import ApiError


def connect(handed: Any, binary: bool = True, service: str = "dynamodb") -> Connection:
    """The connection of a database or a client. Raises TypeError for anything else.

    `binary` says whether values can be binary, which boto3 represents as bytes.
    """
    if callable(getattr(handed, "execute", None)):
        return _Database(handed)
    _expect_client(handed, service)
    if _is_asynchronous(handed):
        raise TypeError("this client is asynchronous: use an st.AsyncStore")
    return _Client(handed, binary)


def connect_async(handed: Any, binary: bool = True) -> AsyncConnection:
    """As `connect`, for asyncio."""
    if callable(getattr(handed, "execute_async", None)):
        return _AsyncDatabase(handed)
    _expect_client(handed)
    if not _is_asynchronous(handed):
        raise TypeError(
            "this client would block the event loop: use an aiobotocore client, or an st.Store"
        )
    return _AsyncClient(handed, binary)


def _expect_client(handed: Any, service: str = "dynamodb") -> None:
    meta = getattr(handed, "meta", None)
    if getattr(meta, "client", None) is not None:
        raise TypeError('a boto3 resource converts values: use session.client("dynamodb") instead')
    model = getattr(meta, "service_model", None)
    if model is None or model.service_name != service:
        raise TypeError(
            f"{type(handed).__name__} is neither a hashrange database nor a boto3 client for "
            f'DynamoDB: hashrange.connect(), or boto3.client("{service}")'
        )


def _is_asynchronous(client: Any) -> bool:
    return inspect.iscoroutinefunction(client._make_api_call)


def is_database(connection: Connection) -> bool:
    """Whether it is a hashrange database, which also answers the operations of streams."""
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
    def __init__(self, client: Any, binary: bool) -> None:
        self._methods = _methods(client)
        self._binary = binary

    def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            response = self._methods[operation](
                **(_to_client(payload) if self._binary else payload)
            )
        except Exception as error:
            raise _client_failure(error) from error
        return _response(response, self._binary)


class _AsyncClient:
    def __init__(self, client: Any, binary: bool) -> None:
        self._methods = _methods(client)
        self._binary = binary

    async def call(self, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await self._methods[operation](
                **(_to_client(payload) if self._binary else payload)
            )
        except Exception as error:
            raise _client_failure(error) from error
        return _response(response, self._binary)


def _methods(client: Any) -> dict[str, Any]:
    mapping: dict[str, str] = client.meta.method_to_api_mapping
    unchecked = _unchecked(client)
    return {operation: getattr(unchecked, method) for method, operation in mapping.items()}


def _unchecked(client: Any) -> Any:
    """The same client, which sends requests without having botocore check their parameters first.

    The toolkit's requests are made of checked values, and the server checks them anyway. In a
    transaction of a hundred writes, botocore's check is a third of the client's work. A client
    that keeps the check elsewhere, or has none, is returned as it is.
    """
    serializer = getattr(vars(client).get("_serializer"), "_serializer", None)
    if serializer is None:
        return client
    unchecked = object.__new__(type(client))
    vars(unchecked).update(vars(client), _serializer=serializer)
    return unchecked


def _response(response: Any, binary: bool) -> dict[str, Any]:
    """In wire form, without the HTTP metadata."""
    response.pop("ResponseMetadata", None)
    found: dict[str, Any] = _from_client(response) if binary else response
    return found


def _api_failure(error: ApiError) -> ApiFailure:
    return ApiFailure(error.code, error.message, error, **error.members)


def _client_failure(error: Exception) -> ApiFailure:
    """The failure of botocore's ClientError; any other error has no code."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict) or "Error" not in response:
        return ApiFailure("", str(error), error)
    described = response["Error"]
    found = _from_client({k: response.get(k) for k in ("Item", "CancellationReasons")})
    return ApiFailure(described.get("Code", ""), described.get("Message", ""), error, **found)


# ---- binary values: base64 text in wire form, bytes in boto3 ----


def _to_client(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1:
            [(tag, content)] = value.items()
            if tag == "B" and isinstance(content, str):
                return {"B": base64.b64decode(content)}
            if tag == "BS" and isinstance(content, list):
                return {"BS": [base64.b64decode(member) for member in content]}
        return {n: m if type(m) is str else _to_client(m) for n, m in value.items()}
    return [_to_client(member) for member in value] if isinstance(value, list) else value


def _from_client(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: m if type(m) is str else _from_client(m) for n, m in value.items()}
    if isinstance(value, list):
        return [_from_client(member) for member in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
