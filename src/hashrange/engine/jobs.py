"""Imports, exports and bulk puts: their rows, their tokens, and the pages of their lists."""

from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from hashrange import kv
from hashrange.engine.decision import AnyChange, JobChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.engine.keyspace import system
from hashrange.model.errors import LimitExceededException, ValidationException
from hashrange.model.jobs import Job, Kind

TOKEN_SECONDS = 8 * 60 * 60
"""How long, in seconds, a client token is remembered. A request with the same token within this
time repeats the earlier request."""
KEPT_SECONDS = 90 * 24 * 60 * 60
FORGOTTEN_MAX = 100
_READ_ROWS = 200
_TOKEN_BYTES = 56
"""The length of the pagination token of a list of jobs. The token is sent as 112 hexadecimal
digits, the shortest length allowed."""


def find(kind: Kind, arn: str) -> Fetch[Job | None]:
    """The job with this ARN; None if there is none. Its table may have been deleted."""
    job = yield from by_id(kind, arn.rpartition("/")[2])
    return job if job is not None and job.arn == arn else None


def by_id(kind: Kind, id_: str) -> Fetch[Job | None]:
    rows = (system.job_row(kind, id_, in_progress) for in_progress in (True, False))
    values: list[bytes | None] = yield kv.Get(tuple((kv.SYSTEM_SPACE, row) for row in rows))
    return next((system.decode(value, Job) for value in values if value is not None), None)


def all_of(kind: Kind) -> Fetch[list[Job]]:
    """All jobs of a kind, the newest first."""
    jobs = yield from _read(kind, in_progress=False)
    return sorted(jobs, key=attrgetter("id"), reverse=True)


def in_progress(kind: Kind) -> Fetch[list[Job]]:
    """The jobs of a kind that have not ended, the oldest first."""
    jobs = yield from _read(kind, in_progress=True)
    return jobs[::-1]


def _read(kind: Kind, in_progress: bool) -> Fetch[list[Job]]:
    """All jobs of a kind, or only those in progress, in the reverse order of their rows."""
    start, end = system.job_rows(kind, in_progress)
    jobs: list[Job] = []
    while True:
        page: kv.Page = yield kv.Range(
            kv.SYSTEM_SPACE, start, end, reverse=True, rows_max=_READ_ROWS
        )
        jobs += (system.decode(value, Job) for _, value in page.rows)
        if page.exhausted:
            return jobs
        end = page.rows[-1][0]


class Known(NamedTuple):
    """The existing jobs of a kind, for a request for another job.

    `same` is an earlier job that was requested with the same client token. `old` has changes that
    delete some old jobs.
    """

    same: Job | None
    in_progress: list[Job]
    old: list[AnyChange]


def known(kind: Kind, token: str | None, moment: Moment) -> Fetch[Known]:
    jobs = yield from all_of(kind)
    same = next(
        (
            job
            for job in jobs
            if token is not None
            and job.request.get("ClientToken") == token
            and moment.now - job.started_at < TOKEN_SECONDS
        ),
        None,
    )
    old = [job for job in jobs if moment.now - job.started_at >= KEPT_SECONDS]
    forgotten: list[AnyChange] = [JobChange(job, None) for job in old[-FORGOTTEN_MAX:]]
    return Known(same, [job for job in jobs if job.in_progress], forgotten)


def check_room(known: Known, most: int, what: str) -> None:
    """Raises LimitExceededException if at least `most` jobs are in progress.

    The message calls these jobs `what`.
    """
    if len(known.in_progress) >= most:
        raise LimitExceededException(f"Subscriber limit exceeded: at most {most} {what} at once")


def new_id(moment: Moment) -> str:
    return f"{int(moment.now * 1000):014d}-{moment.entropy[:4].hex()}"


def page(
    jobs: list[Job], moment: Moment, table_arn: str | None, limit: int, token: str | None
) -> tuple[list[Job], str | None]:
    """A page of at most `limit` jobs, and the token of the next page.

    The page has those of `jobs` that are younger than 90 days and, unless `table_arn` is None, of
    this table. Raises ValidationException if `token` cannot be the token of a page.
    """
    wanted = [
        job
        for job in jobs
        if moment.now - job.started_at < KEPT_SECONDS and table_arn in (None, job.table_arn)
    ]
    if token is not None:
        last = _parse_token(token)
        wanted = [job for job in wanted if job.id < last]
    shown = wanted[:limit]
    return shown, _token(shown[-1].id) if len(wanted) > limit else None


def _token(id_: str) -> str:
    return id_.encode().ljust(_TOKEN_BYTES, b"\0").hex()


def _parse_token(token: str) -> str:
    try:
        content = bytes.fromhex(token)
        if len(content) == _TOKEN_BYTES and content[:1].isdigit():
            return content.rstrip(b"\0").decode("ascii")
    except ValueError:
        pass
    raise ValidationException(f"Invalid Request: Provided nextToken is invalid: {token}")


def cancelled(job: Job) -> Job:
    """The job, marked to end after its current step; unchanged if it has already ended."""
    return replace(job, status="CANCELLING") if job.in_progress else job
