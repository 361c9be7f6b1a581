"""Signature Version 4, as far as it can be judged without knowing a key.

The order of checks is DynamoDB's: where the signature is, its missing parts, the form of the
date, the credential's scope. Looking the key up, clock skew and the signature itself follow
here when keys can be configured.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hashrange.model.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "dynamodb"
TERMINATOR = "aws4_request"

_HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARTS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_BASIC_FORMAT = re.compile(r"(\d{8})T\d{6}Z")
_RFC_FORMAT = re.compile(r"\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT")


class Credential(NamedTuple):
    access_key: str
    date: str
    region: str
    service: str
    terminator: str


def authenticate(headers: Mapping[bytes, bytes], query: Mapping[str, str]) -> Credential:
    """The credential that a request claims, from its header or from its query string.

    `headers` have lower-case names. Raises MissingAuthenticationTokenException,
    IncompleteSignatureException or InvalidSignatureException.
    """
    authorization = headers.get(b"authorization", b"").decode("latin-1").strip()
    if authorization and "X-Amz-Algorithm" in query:
        raise InvalidSignatureException(
            "Found both 'X-Amz-Algorithm' as a query-string param "
            "and 'Authorization' as HTTP header."
        )
    if authorization.startswith("AWS4-"):
        date = headers.get(b"x-amz-date") or headers.get(b"date") or b""
        return _from_header(authorization, date.decode("latin-1"))
    if authorization or "X-Amz-Algorithm" not in query:
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _from_query(query)


def _from_header(authorization: str, date: str) -> Credential:
    algorithm, _, rest = authorization.partition(" ")
    parts = dict(part.strip().partition("=")[::2] for part in re.split(r"[,\s]+", rest))
    missing = [
        f"Authorization header requires '{name}' parameter."
        for name in _HEADER_PARTS
        if not parts.get(name)
    ]
    if not date:
        missing.append(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    if missing:
        missing.append(f"Authorization={authorization}")
        raise IncompleteSignatureException(" ".join(missing))
    return _check(algorithm, parts["Credential"], date)


def _from_query(query: Mapping[str, str]) -> Credential:
    missing = [
        f"AWS query-string parameters must include '{name}'."
        for name in _QUERY_PARTS
        if not query.get(name)
    ]
    if missing:
        missing.append("Re-examine the query-string parameters.")
        raise IncompleteSignatureException(" ".join(missing))
    return _check(query["X-Amz-Algorithm"], query["X-Amz-Credential"], query["X-Amz-Date"])


def _check(algorithm: str, credential: str, date: str) -> Credential:
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'.")
    elements = credential.split("/")
    if len(elements) != len(Credential._fields):
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{credential}'"
        )
    claimed = Credential(*elements)
    basic = _BASIC_FORMAT.fullmatch(date)
    if not basic and not _RFC_FORMAT.fullmatch(date):
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{date}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        )
    faults = list(_scope_faults(claimed, basic[1] if basic else claimed.date, date))
    if faults:
        raise InvalidSignatureException("".join(faults))
    return claimed


def _scope_faults(claimed: Credential, day: str, date: str) -> Iterator[str]:
    """Each sentence ends with a blank, the last one too."""
    if not claimed.region:
        yield "Credential should be scoped to a valid region. "
    if claimed.service != SERVICE:
        yield f"Credential should be scoped to correct service: '{SERVICE}'. "
    if claimed.terminator != TERMINATOR:
        yield f"Credential should be scoped with a valid terminator: '{TERMINATOR}'. "
    if claimed.date != day:
        yield (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            f"from HTTP: '{claimed.date}' != '{day}', from '{date}'. "
        )
