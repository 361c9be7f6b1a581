"""A request like one that was admitted is admitted by comparing a few strings.

A client sends the same headers in the same order each time; what differs is the operation, the
body, the signature, and the date once a second. So only the first request of a connection, and
whatever differs from it in more, is looked at closely (`connection`, `gate`, `authentication`).
Where signatures are verified there is no precedent.
"""

from collections.abc import Mapping
from operator import itemgetter

from hashrange.wire.gate import Targets
from hashrange.wire.responses import PLAIN, Form
from hashrange.wire.signature import Credential

_VARYING = (b"x-amz-target", b"authorization", b"content-length")
_EQUAL = (b"x-amz-date", b"content-type")
_EQUAL_IF_SENT = (b"accept-encoding", b"connection", b"origin")
_NEVER = frozenset((b"content-encoding", b"expect", b"transfer-encoding", b"upgrade"))
_LENGTH_DIGITS_MAX = 7  # whatever is written so is below the limit

Fields = Mapping[bytes, bytes]
"""Headers under their names as sent."""


class Precedent:
    """The last request of one connection that was admitted by a close look."""

    form: Form = PLAIN
    region: str = ""
    access_key: str = ""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._names: tuple[bytes, ...] = ()

    def operation(self, url: list[bytes], fields: Fields) -> str | None:
        """Of a POST that its precedent admits, else None."""
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

    def set(self, url: list[bytes], fields: Fields, signer: Credential, form: Form) -> None:
        """Remember a POST that was admitted, if its likes can be told by the comparison."""
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
        self.region = signer.region
        self.access_key = signer.access_key
        self.form = form
