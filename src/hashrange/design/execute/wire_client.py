"""A boto3 client whose requests and answers stay in DynamoDB's JSON, which is the wire form.

boto3 checks and converts each value of a request, and converts each value of an answer. This is
most of the work of a call. The toolkit has already checked its values and has them in wire form, so
they are sent and returned unchanged. boto3 still does everything else: addresses, signatures,
retries, errors and the client's events.

If a client cannot be used in this way, `to_client` and `from_client` convert the values.
"""

import base64
import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass
class Answer:
    """Whether the answer to the call in progress is in wire form."""

    wired: bool = False


ANSWER: ContextVar[Answer | None] = ContextVar("ANSWER", default=None)
"""The form of the answer to a call of the toolkit; None while a program calls the client."""


class _Serializer:
    """Replaces the client's serializer, and writes parameters without converting them."""

    def __init__(self, serializer: Any) -> None:
        self._serializer = serializer

    def serialize_to_request(self, parameters: dict[str, Any], operation_model: Any) -> Any:
        request = self._serializer.serialize_to_request({}, operation_model)
        request["body"] = json.dumps(parameters).encode()
        return request


def wired(client: Any) -> Any | None:
    """A copy of the client that takes requests in wire form; None if that is not possible.

    It is possible for a DynamoDB client that is built like botocore's. Answers are in wire form
    too, if `ANSWER` is set and botocore emits its event `before-parse`.
    """
    service = client.meta.service_model
    checking = vars(client).get("_serializer")
    serializer = getattr(checking, "_serializer", checking)  # the part without validation
    is_json = getattr(service, "resolved_protocol", "") == "json"
    if serializer is None or service.service_name != "dynamodb" or not is_json:
        return None
    client.meta.events.register("before-parse.dynamodb", _take, unique_id="hashrange-answer")
    same = object.__new__(type(client))
    vars(same).update(vars(client), _serializer=_Serializer(serializer))
    return same


def _take(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any
) -> None:
    answer = ANSWER.get()
    if answer is None or response_dict["status_code"] >= 300:
        return
    try:
        customized_response_dict |= msgspec.json.decode(response_dict["body"])
    except msgspec.DecodeError:
        return  # it is not DynamoDB's, e.g. a proxy's: botocore handles it
    response_dict["body"] = b""
    answer.wired = True


# ---- binary values: base64 text in wire form, bytes in boto3 ----


def to_client(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1:
            [(tag, content)] = value.items()
            if tag == "B" and isinstance(content, str):
                return {"B": base64.b64decode(content)}
            if tag == "BS" and isinstance(content, list):
                return {"BS": [base64.b64decode(member) for member in content]}
        return {name: to_client(member) for name, member in value.items()}
    return [to_client(member) for member in value] if isinstance(value, list) else value


def from_client(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: from_client(member) for name, member in value.items()}
    if isinstance(value, list):
        return [from_client(member) for member in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
