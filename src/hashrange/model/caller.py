"""The identity behind a request: its region, account and access key."""

from msgspec import Struct

DEFAULT_REGION = "us-east-1"
DEFAULT_ACCOUNT = "000000000000"


class Caller(Struct, frozen=True):
    """`region` and `access_key` are those of the credential that the request is signed with.

    `access_key` is empty for a request that is not signed, as requests in process are not.
    """

    region: str = DEFAULT_REGION
    account: str = DEFAULT_ACCOUNT
    access_key: str = ""


DEFAULT_CALLER = Caller()
