"""The identity behind a request: its region, account, access key and principal."""

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
    """`now` is in epoch seconds. Raises ExpiredTokenException."""
    ends = principal.expires_at
    if ends is not None and ends <= now:
        raise ExpiredTokenException("The security token included in the request is expired")


class Caller(Struct, frozen=True):
    """`region` and `access_key` are those of the credential that the request is signed with.

    `access_key` is empty for a request that is not signed, as requests in process are not.
    Without a `principal` everything is allowed. `address` is the client's, and `secure` whether
    it uses TLS. `invocation` is what the client's library calls the request, and `attempt` counts
    how often it has sent it, if a load is recorded.
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
