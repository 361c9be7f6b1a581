"""Reads the Signature Version 4 of a request, and finds its signer.

The checks are in DynamoDB's order: the place of the signature, its missing parts, the form of the
date, the clock, the credential's scope, the key and the signature. Without a verifier, any
well-formed credential is accepted, and the clock is not checked.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import unquote

from hashrange.model.caller import Principal
from hashrange.model.errors import (
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
)
from hashrange.wire.signature import (
    ALGORITHM,
    ISO_BASIC,
    SERVICE,
    TERMINATOR,
    Claim,
    Credential,
    SignedRequest,
    Verifier,
)

_HEADER_PARTS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARTS = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Signature",
    "X-Amz-SignedHeaders",
    "X-Amz-Date",
)
_BASIC_FORMAT = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_RFC_FORMAT = re.compile(r"\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT", re.ASCII)


_CLAIMED_KEY = re.compile(rb"Credential=([^/,\s%]{1,128})")
_KEY_IN_QUERY = re.compile(rb"[?&]X-Amz-Credential=([^&#\s]{1,128})")


def claimed_key(headers: Mapping[bytes, bytes], url: bytes) -> str:
    """The access key that a request names, even in a malformed signature; "" if there is none."""
    match = _CLAIMED_KEY.search(headers.get(b"authorization", b"")) or _KEY_IN_QUERY.search(url)
    return unquote(match[1].decode("latin-1")).partition("/")[0] if match else ""


class Signer(NamedTuple):
    """The signer of a request. Without a verifier, the `principal` is None."""

    region: str
    access_key: str
    principal: Principal | None = None


def authenticate(request: SignedRequest, verifier: Verifier | None) -> Signer:
    """The signer of a request, from its Authorization header or its query string.

    Raises MissingAuthenticationTokenException, IncompleteSignatureException,
    InvalidSignatureException, UnrecognizedClientException or ExpiredTokenException.
    """
    claim = _claim(request.headers, dict(request.query))
    if verifier:
        verifier.check_clock(claim)
    if faults := "".join(_scope_faults(claim)):
        raise InvalidSignatureException(faults)
    principal = verifier.check_signature(request, claim) if verifier else None
    return Signer(claim.credential.region, claim.credential.access_key, principal)


def _claim(headers: Mapping[bytes, bytes], query: Mapping[str, str]) -> Claim:
    authorization = headers.get(b"authorization", b"").decode("latin-1").strip()
    if authorization and "X-Amz-Algorithm" in query:
        raise InvalidSignatureException(
            "Found both 'X-Amz-Algorithm' as a query-string param "
            "and 'Authorization' as HTTP header."
        )
    if authorization.startswith("AWS4-"):
        return _from_header(authorization, headers)
    if authorization or "X-Amz-Algorithm" not in query:
        raise MissingAuthenticationTokenException("Request is missing Authentication Token")
    return _from_query(query)


def _from_header(authorization: str, headers: Mapping[bytes, bytes]) -> Claim:
    date = (headers.get(b"x-amz-date") or headers.get(b"date") or b"").decode("latin-1")
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
    credential, moment = _read(algorithm, parts["Credential"], date)
    token = headers.get(b"x-amz-security-token", b"").decode("latin-1")
    return Claim(credential, date, moment, parts["SignedHeaders"], parts["Signature"], token)


def _from_query(query: Mapping[str, str]) -> Claim:
    missing = [
        f"AWS query-string parameters must include '{name}'."
        for name in _QUERY_PARTS
        if not query.get(name)
    ]
    if missing:
        missing.append("Re-examine the query-string parameters.")
        raise IncompleteSignatureException(" ".join(missing))
    date = query["X-Amz-Date"]
    credential, moment = _read(query["X-Amz-Algorithm"], query["X-Amz-Credential"], date)
    return Claim(
        credential,
        date,
        moment,
        query["X-Amz-SignedHeaders"],
        query["X-Amz-Signature"],
        query.get("X-Amz-Security-Token", ""),
        query.get("X-Amz-Expires"),
    )


def _read(algorithm: str, credential: str, date: str) -> tuple[Credential, datetime]:
    if algorithm != ALGORITHM:
        raise IncompleteSignatureException(f"Unsupported AWS 'algorithm': '{algorithm}'.")
    elements = credential.split("/")
    if len(elements) != len(Credential._fields):
        raise IncompleteSignatureException(
            "Credential must have exactly 5 slash-delimited elements, "
            f"e.g. keyid/date/region/service/term, got '{credential}'"
        )
    try:
        return Credential(*elements), _moment(date)
    except ValueError:
        raise IncompleteSignatureException(
            f"Date must be in ISO-8601 'basic format'. Got '{date}'. "
            "See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None


def _moment(date: str) -> datetime:
    """Parse the time in a date header. Raises ValueError for another form, or a date that does not
    exist."""
    if _BASIC_FORMAT.fullmatch(date):
        return datetime.strptime(date, ISO_BASIC).replace(tzinfo=UTC)
    if _RFC_FORMAT.fullmatch(date):
        from email.utils import parsedate_to_datetime  # imported late: no SDK sends such a date

        return parsedate_to_datetime(date).replace(tzinfo=UTC)
    raise ValueError


def _scope_faults(claim: Claim) -> Iterator[str]:
    """The faults of a credential's scope, as sentences that each end with a space."""
    credential, day = claim.credential, f"{claim.moment:%Y%m%d}"
    if not credential.region:
        yield "Credential should be scoped to a valid region. "
    if credential.service != SERVICE:
        yield f"Credential should be scoped to correct service: '{SERVICE}'. "
    if credential.terminator != TERMINATOR:
        yield f"Credential should be scoped with a valid terminator: '{TERMINATOR}'. "
    if credential.date != day:
        yield (
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            f"from HTTP: '{credential.date}' != '{day}', from '{claim.date}'. "
        )
