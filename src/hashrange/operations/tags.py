"""TagResource, UntagResource and ListTagsOfResource: tags of a table.

Source: API reference; at most 50 tags; keys that begin with `aws:` are the service's own. Order
and wording as observed on the service. A list is never so long that it comes in pages, and a
NextToken of no page is not looked at.
"""

from collections.abc import Sequence, Sized
from typing import NamedTuple
from unicodedata import category

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import NO_BODY, Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceNotFoundException, ValidationException
from hashrange.model.limits import TAGS_MAX
from hashrange.model.tables import Table
from hashrange.operations import resource_arns
from hashrange.operations.parse import decode

KEY_LENGTH_MAX = 128
VALUE_LENGTH_MAX = 256


class Tagging(NamedTuple):
    """What comes to the tags of a table, and what goes."""

    arn: str | None
    new: dict[str, str]
    gone: frozenset[str]


def check(given: Sequence[requests.Tag]) -> dict[str, str]:
    """Tags that a request gives, to a table that there is or to a new one."""
    tags: dict[str, str] = {}
    for tag in given:
        key, value = _key(tag.key), tag.value
        if value is None or not _is_text(value, VALUE_LENGTH_MAX):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {_shown(value)}")
        if key in tags:
            raise ValidationException(
                f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )
        tags[key] = value
    _check_count(tags)
    return tags


def _key(key: str | None) -> str:
    if not key or not _is_text(key, KEY_LENGTH_MAX):
        raise ValidationException(f"The Tag Key provided is invalid, Key: {_shown(key)}")
    if key.lower().startswith("aws:"):
        raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {key}")
    return key


def _shown(text: str | None) -> str:
    return "null" if text is None else text


def _check_count(tags: Sized) -> None:
    if len(tags) > TAGS_MAX:
        raise ValidationException(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def _is_text(text: str, length_max: int) -> bool:
    """Letters, numbers and separators of any script, and some signs."""
    return len(text) <= length_max and all(
        sign in "_.:/=+-@" or category(sign)[0] in "LNZ" for sign in text
    )


def parse_tag(body: bytes) -> Tagging:
    given = decode(body, requests.TagResource)
    resource_arns.parse(given.resource_arn)
    if not given.tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    return Tagging(given.resource_arn, check(given.tags), frozenset())


def parse_untag(body: bytes) -> Tagging:
    given = decode(body, requests.UntagResource)
    resource_arns.parse(given.resource_arn)
    if not given.tag_keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    _check_count(given.tag_keys)
    return Tagging(given.resource_arn, {}, frozenset(map(_key, given.tag_keys)))


def parse_list(body: bytes) -> requests.ListTagsOfResource:
    given = decode(body, requests.ListTagsOfResource)
    resource_arns.parse(given.resource_arn)
    return given


def change(given: Tagging, moment: Moment) -> Decide:
    """TagResource and UntagResource."""
    table = yield from _table(given.arn, moment)
    tags = {key: value for key, value in table.tags.items() if key not in given.gone} | given.new
    _check_count(tags)
    return Decision([TableChange(table, replace(table, tags=tags))], NO_BODY)


def list_(given: requests.ListTagsOfResource, moment: Moment) -> Decide:
    table = yield from _table(given.resource_arn, moment)
    return answer({"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]})


def _table(arn: str | None, moment: Moment) -> Fetch[Table]:
    """Raises ResourceNotFoundException; a stream has no tags."""
    name, stream = resource_arns.parse(arn)
    table = yield from fetch.find_table(name)
    if table is None or stream is not None or moment.now < table.active_at:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourceArn: {arn} not found"
        )
    return table
