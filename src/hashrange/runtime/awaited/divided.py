"""Divides a request into parts, one for each machine that has some of its rows.

BatchWriteItem and BatchExecuteStatement are not atomic, so they need not be one transaction over
several machines, which would cost much more. Each part is a request of its own. It joins other
requests for its machine, and if that machine cannot be reached, only this part fails.
"""

from collections.abc import Sequence
from functools import partial

from hashrange import kv
from hashrange.engine.capacity import Receipt
from hashrange.metering.metered import Metered, metered
from hashrange.model.errors import ApiError
from hashrange.operations.operation import Division, Part
from hashrange.runtime.batch import Submission, submission_of
from hashrange.runtime.catalog import Tables
from hashrange.runtime.decisions import is_timeless
from hashrange.runtime.ending import Outcome, internal_error, tell


def parts_of(submission: Submission, tables: Tables, store: kv.AsyncStore) -> list[Submission]:
    """The parts of a request whose decision has begun with these tables; none if the request has to
    be decided as a whole. The caller gets its response when all parts have ended.

    A request is divided only if its decision begins with a read of items. Before such a read the
    decision has checked the whole request, so no part of an invalid request is written.
    """
    division, first = submission.operation.division, submission.first
    if division is None or submission.proposal is not None or store.machine_of(b"") is None:
        return []
    if not first or not is_timeless(first[0]):
        return []
    parts = division.divide(submission.request, tables, store.machine_of)
    ending = Ending(submission, division, parts)
    return [
        submission_of(submission.operation, *part, submission.caller, partial(ending.ended, number))
        for number, part in enumerate(parts)
    ]


class Ending:
    """Collects the outcomes of the parts of a request, until the last part has ended."""

    def __init__(self, whole: Submission, division: Division, parts: Sequence[Part]) -> None:
        self._whole = whole
        self._division = division
        self._parts = parts
        self._outcomes: dict[int, Outcome] = {}

    def ended(self, number: int, outcome: Outcome) -> None:
        """Note the outcome of a part. After the last part, send the response to the caller."""
        self._outcomes[number] = outcome
        if len(self._outcomes) == len(self._parts) and self._whole.done is not None:
            tell(self._whole.done, self._joined())

    def _joined(self) -> Outcome:
        outcomes: list[bytes | ApiError] = []
        for number in range(len(self._parts)):
            outcome = self._outcomes[number]
            if not isinstance(outcome, (bytes, ApiError)) or _is_unknown(outcome):
                return outcome
            outcomes.append(outcome)
        try:
            body = self._division.join(self._whole.request, self._parts, outcomes)
        except ApiError as refusal:
            return refusal.with_traceback(None)
        except Exception as error:
            return internal_error(error)
        receipts = [each.receipt for each in outcomes if isinstance(each, Metered)]
        if not receipts:
            return body
        return metered(body, Receipt(charges=[it for each in receipts for it in each.charges]))


def _is_unknown(outcome: bytes | ApiError) -> bool:
    """Whether a part may or may not have been written. Its writes must not be reported as
    unprocessed."""
    return isinstance(outcome, ApiError) and isinstance(outcome.__cause__, kv.OutcomeUnknown)
