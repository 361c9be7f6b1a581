"""Signature Version 4: checks that the signer of a request knows the secret of a configured key.

    secret, day, region  ->  signing key   (four HMACs, cached)
    request              ->  canonical request  ->  string to sign  ->  signature

The rules are those of AWS's "Create a signed AWS API request". As on every service but S3, the
signature must cover the body: a request with UNSIGNED-PAYLOAD is refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from hmac import digest as hmac_digest
from typing import NamedTuple, Protocol
from urllib.parse import quote

from hashrange.model.caller import Principal, check_expiry
from hashrange.model.errors import (
    InvalidSignatureException,
    UnrecognizedClientException,
)

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "dynamodb"
TERMINATOR = "aws4_request"
ISO_BASIC = "%Y%m%dT%H%M%SZ"

SKEW_MINUTES_MAX = 15
_SKEW = timedelta(minutes=SKEW_MINUTES_MAX)

_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)
_INVALID_TOKEN = "The security token included in the request is invalid"
"""The message for a known access key with a wrong session token. For an unknown access key, a
period follows. Both texts were seen on the service."""

Query = Sequence[tuple[str, str]]
"""Decoded query parameters in the order in which they were sent; each character is a byte."""


class Digest(Protocol):
    """A hash object of `hashlib`."""

    def hexdigest(self) -> str: ...


class SignedRequest(NamedTuple):
    """A POST to `/`. The names in `headers` are in lower case.

    `digest` is the SHA-256 hash of the body, if already known.
    """

    query: Query
    headers: Mapping[bytes, bytes]
    body: bytes
    digest: Digest | None = None


class Credential(NamedTuple):
    access_key: str
    date: str
    region: str
    service: str
    terminator: str


class Claim(NamedTuple):
    """The signature that a request states. Only a presigned request has `expires`, in seconds."""

    credential: Credential
    date: str
    moment: datetime
    signed_headers: str
    signature: str
    token: str
    expires: str | None = None


class Key(NamedTuple):
    """A secret key. `token` is its session token; it is empty for a permanent key. A key without a
    `principal` may do everything."""

    secret: str
    token: str = ""
    principal: Principal | None = None


Keys = Mapping[str, Key]
"""Maps the access keys that are accepted at one time (a *generation*) to their secret keys. A
generation never changes: if the keys change, there is a new generation."""


class KeyRing:
    """The generation of keys that a server accepts now.

    Replacing it does not affect requests whose signatures have already been verified.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys


class KeysError(Exception):
    """The text is not a list of keys. The message may name a line, and reveals no secret."""


_LINE = re.compile(r"(?P<access>[^\s/,=]+)\s+(?P<secret>\S+)(?:\s+(?P<token>\S+))?", re.ASCII)


def read_keys(text: str) -> Keys:
    """Parse lines of the form `access_key secret_key [session_token]`. A `#` begins a comment line.

    Raises KeysError.
    """
    keys: dict[str, Key] = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match:
            raise KeysError(
                f"line {number} does not have the form: access_key secret_key [session_token]"
            )
        if match["access"] in keys:
            raise KeysError(f"line {number} repeats the access key of an earlier line")
        keys[match["access"]] = Key(match["secret"], match["token"] or "")
    if not keys:
        raise KeysError(
            "there are no keys; write a line for each: access_key secret_key [session_token]"
        )
    return keys


class Verifier:
    """Verifies signatures with the keys of a `KeyRing`. `clock` returns epoch seconds."""

    def __init__(self, ring: KeyRing, clock: Callable[[], float]) -> None:
        self._ring = ring
        self._clock = clock

    def check_clock(self, claim: Claim) -> None:
        """Raises InvalidSignatureException if the time of a signature is too far in the past or in
        the future."""
        now = datetime.fromtimestamp(int(self._clock()), UTC)
        if claim.moment < now - _SKEW:
            raise InvalidSignatureException(
                f"Signature expired: {claim.moment:{ISO_BASIC}} is now earlier than "
                f"{now - _SKEW:{ISO_BASIC}} ({now:{ISO_BASIC}} - {SKEW_MINUTES_MAX} min.)"
            )
        if claim.moment > now + _SKEW:
            raise InvalidSignatureException(
                f"Signature not yet current: {claim.moment:{ISO_BASIC}} is still later than "
                f"{now + _SKEW:{ISO_BASIC}} ({now:{ISO_BASIC}} + {SKEW_MINUTES_MAX} min.)"
            )
        if claim.expires is not None:
            _check_expiry(claim.moment, claim.expires, now)

    def check_signature(self, request: SignedRequest, claim: Claim) -> Principal | None:
        """Check the signature of a request. Returns the principal of the key, if it has one.

        Raises UnrecognizedClientException, InvalidSignatureException or ExpiredTokenException.
        """
        _check_signed_headers(request.headers, claim)
        key = self._ring.keys.get(claim.credential.access_key)
        if key is None:
            raise UnrecognizedClientException(f"{_INVALID_TOKEN}.")
        if not compare_digest(key.token.encode(), claim.token.encode()):
            raise UnrecognizedClientException(_INVALID_TOKEN)
        if not compare_digest(_signature(request, claim, key.secret), claim.signature.encode()):
            raise InvalidSignatureException(_MISMATCH)
        if key.principal is not None:
            check_expiry(key.principal, self._clock())
        return key.principal


def _check_expiry(moment: datetime, expires: str, now: datetime) -> None:
    """Check that a presigned request has not expired by the limit that it states. This is checked
    in addition to the usual limit."""
    if not re.fullmatch(r"\d{1,6}", expires, re.ASCII):
        raise InvalidSignatureException("X-Amz-Expires should be a number")
    if now > moment + timedelta(seconds=int(expires)):
        raise InvalidSignatureException(
            f"Signature expired: {moment:{ISO_BASIC}} is now earlier than "
            f"{now - timedelta(seconds=int(expires)):{ISO_BASIC}} "
            f"({now:{ISO_BASIC}} - {int(expires)} sec.)"
        )


def _check_signed_headers(headers: Iterable[bytes], claim: Claim) -> None:
    """Check that Host and all headers that begin with `x-amz-` are signed."""
    signed = claim.signed_headers.encode().split(b";")
    if b"host" not in signed:
        raise InvalidSignatureException(
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
        )
    for name in headers:
        if name.startswith(b"x-amz-") and name not in signed:
            raise InvalidSignatureException(
                f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            )


def _signature(request: SignedRequest, claim: Claim, secret: str) -> bytes:
    """The expected signature, in hexadecimal digits."""
    _, day, region, _, _ = claim.credential
    string_to_sign = "\n".join(
        (
            ALGORITHM,
            f"{claim.moment:{ISO_BASIC}}",
            "/".join(claim.credential[1:]),
            sha256(_canonical(request, claim.signed_headers)).hexdigest(),
        )
    )
    key = _signing_key(secret, day, region)
    return hmac_digest(key, string_to_sign.encode(), "sha256").hex().encode()


def _canonical(request: SignedRequest, signed_headers: str) -> bytes:
    names = sorted(name.lower() for name in signed_headers.encode().split(b";"))
    headers = (b"%b:%b\n" % (name, _trimmed(request.headers.get(name, b""))) for name in names)
    return b"\n".join(
        (
            b"POST",
            b"/",
            _canonical_query(request.query),
            b"".join(headers),
            signed_headers.encode(),
            (request.digest or sha256(request.body)).hexdigest().encode(),
        )
    )


def _trimmed(value: bytes) -> bytes:
    """The value without spaces at its ends, and with each run of spaces replaced by one."""
    return b" ".join(filter(None, value.split(b" ")))


def _canonical_query(query: Query) -> bytes:
    encoded = (
        (
            quote(name, safe="-_.~", encoding="latin-1"),
            quote(value, safe="-_.~", encoding="latin-1"),
        )
        for name, value in query
        if name != "X-Amz-Signature"
    )
    return "&".join(f"{name}={value}" for name, value in sorted(encoded)).encode()


@lru_cache(maxsize=256)
def _signing_key(secret: str, day: str, region: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (day, region, SERVICE, TERMINATOR):
        key = hmac_digest(key, part.encode(), "sha256")
    return key
