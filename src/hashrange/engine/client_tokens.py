"""Client tokens, which make transactions idempotent.

Each token is a row. A transaction reads the row, and writes it in its own commit. A token is valid
for ten minutes.

Source: ClientRequestToken of TransactWriteItems.
"""

from hashlib import blake2b

from msgspec import Struct

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.decision import Forget, Remember
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system
from hashrange.model.limits import TRANSACTION_TOKEN_SECONDS

FORGET_ROWS_MAX = 1000


class UsedToken(Struct):
    """The last use of a token.

    `now` is the time of this use, in epoch seconds. If the request is repeated, its actions are
    charged for `sizes`, in bytes. The list is empty if an older version of hashrange stored the
    token. If `sizes` is None, the transaction was cancelled: the same request is decided again, but
    the token cannot be used for another request.
    """

    fingerprint: bytes
    now: float
    sizes: list[int] | None = []

    def is_current(self, moment: Moment) -> bool:
        return moment.now - self.now < TRANSACTION_TOKEN_SECONDS


def _digest(token: str) -> bytes:
    return blake2b(token.encode(), digest_size=16).digest()


def find(token: str) -> Fetch[UsedToken | None]:
    return (yield from fetch.system_row(system.token_row(_digest(token)), UsedToken))


def remember(
    token: str,
    fingerprint: bytes,
    sizes: list[int] | None,
    moment: Moment,
    before: UsedToken | None,
) -> Remember:
    earlier = before.now if before else None
    return Remember(_digest(token), fingerprint, sizes, moment.now, earlier)


def forget_old(moment: Moment) -> Fetch[Forget]:
    """The change that deletes the oldest expired tokens, at most `FORGET_ROWS_MAX`."""
    end = int((moment.now - TRANSACTION_TOKEN_SECONDS) * 1000)
    page: kv.Page = yield kv.Range(
        kv.SYSTEM_SPACE,
        system.token_by_time(0),
        system.token_by_time(max(end, 0)),
        rows_max=FORGET_ROWS_MAX,
    )
    return Forget([system.parse_token_by_time(key) for key, _ in page.rows])
