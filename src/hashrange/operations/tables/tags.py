"""Tags of a table: the code that the operations on tags share.

A table has at most 50 tags. Keys that begin with `aws:` are reserved for the service. Source: API
reference. Messages and the order of the checks were observed on the service.
"""

from collections.abc import Sequence, Sized
from typing import NamedTuple
from unicodedata import category

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import NO_BODY, Decide, Decision, TableChange
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceNotFoundException, ValidationException
from hashrange.model.limits import TAGS_MAX
from hashrange.model.tables import Table
from hashrange.operations.tables import resource_arns

KEY_LENGTH_MAX = 128
VALUE_LENGTH_MAX = 256


class Tagging(NamedTuple):
    """The tags that a request sets, and the keys of the tags that it removes."""

    arn: str | None
    new: dict[str, str]
    gone: frozenset[str]


def check(new_tags: Sequence[requests.Tag]) -> dict[str, str]:
    """The tags of a request, for an existing table or a new one. Raises ValidationException."""
    tags: dict[str, str] = {}
    for tag in new_tags:
        key, value = checked_key(tag.key), tag.value
        if value is None or not _is_text(value, VALUE_LENGTH_MAX):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {_shown(value)}")
        if key in tags:
            raise ValidationException(
                f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )
        tags[key] = value
    check_count(tags)
    return tags


def checked_key(key: str | None) -> str:
    """The key of a tag. Raises ValidationException if it is invalid or reserved."""
    if not key or not _is_text(key, KEY_LENGTH_MAX):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {_shown(key)}")
    if key.lower().startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")
    return key


def _shown(text: str | None) -> str:
    return "null" if text is None else text


def check_count(tags: Sized) -> None:
    if len(tags) > TAGS_MAX:
        raise ValidationException(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def _is_text(text: str, length_max: int) -> bool:
    """Whether a text has only letters, digits, separators and the permitted punctuation."""
    return len(text) <= length_max and all(
        sign in "_.:/=+-@" or category(sign)[0] in "LNZ" for sign in text
    )


def change(request: Tagging, moment: Moment) -> Decide:
    """The decision of TagResource and UntagResource."""
    table = yield from tagged_table(request.arn, moment)
    tags = {
        key: value for key, value in table.tags.items() if key not in request.gone
    } | request.new
    check_count(tags)
    return Decision([TableChange(table, replace(table, tags=tags))], NO_BODY)


def tagged_table(arn: str | None, moment: Moment) -> Fetch[Table]:
    """The table with this ARN. Raises ResourceNotFoundException, also for a stream, which has no
    tags."""
    name, stream = resource_arns.parse(arn)
    table = yield from fetch.find_table(name)
    if table is None or stream is not None or moment.now < table.active_at:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourceArn: {arn} not found"
        )
    return table
