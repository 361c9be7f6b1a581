"""The identity of a request's sender: region, account, access key and principal."""

from typing import Protocol

from msgspec import Struct

from hashrange.model.errors import ExpiredTokenException

DEFAULT_REGION = "us-east-1"
DEFAULT_ACCOUNT = "000000000000"


class Principal(Protocol):
    """The user or session that an access key belongs to: see `hashrange.access.principals`."""

    arn: str
    expires_at: float | None
    full_access: bool

    @property
    def account(self) -> str: ...


def check_expiry(principal: Principal, now: float) -> None:
    """Raises ExpiredTokenException if the session has ended at `now`, in epoch seconds."""
    ends = principal.expires_at
    if ends is not None and ends <= now:
        raise ExpiredTokenException("The security token included in the request is expired")


class Caller(Struct, frozen=True):
    """The sender of a request. `region` and `access_key` come from the credential that signed it.

    `access_key` is empty for an unsigned request, such as a request from within the process.
    Without a `principal`, everything is allowed. `address` is the network address of the client,
    and `secure` tells whether the client uses TLS. While a load is recorded, `invocation` is the id
    that the client's library gives to a request and its retries, and `attempt` is the number of
    this attempt.
    """

    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    access_key: str = ""
    principal: Principal | None = None
    address: str = ""
    secure: bool = False
    invocation: str = ""
    attempt: int = 1


DEFAULT_CALLER = Caller()
