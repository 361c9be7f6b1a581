"""A cache of the headers that a connection sends each time.

A client sends the same headers in the same order with each request. Only the operation, the body,
the signature and, once a second, the date change. So only the first request of a connection, and
any request that differs in something else, gets a full check (`connection`, `routing`,
`authentication`). All other requests are admitted by comparing a few strings. The cache is not used
if signatures are verified.
"""

from collections.abc import Mapping
from operator import itemgetter

from hashrange.model.caller import DEFAULT_CALLER, Caller
from hashrange.wire.responses import PLAIN, Form
from hashrange.wire.routing import Targets

_VARYING = (b"x-amz-target", b"authorization", b"content-length")
_EQUAL = (b"x-amz-date", b"content-type")
_EQUAL_IF_SENT = (b"accept-encoding", b"connection", b"host", b"origin")
_NEVER = frozenset((b"content-encoding", b"expect", b"transfer-encoding", b"upgrade"))
_LENGTH_DIGITS_MAX = 7  # a number of so few digits is below the limit

Fields = Mapping[bytes, bytes]
"""The headers of a request by name, with the names as they were sent."""


class HeaderCache:
    """The headers of the last request of one connection that passed the full check."""

    form: Form = PLAIN
    caller: Caller = DEFAULT_CALLER

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._names: tuple[bytes, ...] = ()

    def operation(self, url: list[bytes], fields: Fields) -> str | None:
        """The operation of a POST whose headers match the cached ones, otherwise None."""
        if tuple(fields) != self._names or url != [b"/"]:
            return None
        target, authorization, length = self._varying(fields)
        if (
            authorization.startswith(self._signer)
            and authorization[len(self._signer) :].isalnum()
            and len(length) <= _LENGTH_DIGITS_MAX
            and self._equal(fields) == self._equal_values
        ):
            return self._targets.get(target)
        return None

    def set(self, url: list[bytes], fields: Fields, caller: Caller, form: Form) -> None:
        """Cache the headers of an admitted POST, if later ones may be admitted by comparison."""
        sent = {name.lower(): name for name in fields}
        required = {*_VARYING, *_EQUAL}
        if form.close or url != [b"/"] or _NEVER & sent.keys() or required - sent.keys():
            self._names = ()
            return
        self._names = tuple(fields)
        self._varying = itemgetter(*(sent[name] for name in _VARYING))
        self._equal = itemgetter(
            *(sent[name] for name in (*_EQUAL, *_EQUAL_IF_SENT) if name in sent)
        )
        self._equal_values = self._equal(fields)
        before, name, _ = fields[sent[b"authorization"]].rpartition(b"Signature=")
        self._signer = before + name
        self.caller = caller
        self.form = form
