"""TagResource, UntagResource and ListTagsOfResource: tags of a table.

Source: API reference; at most 50 tags; keys that begin with `aws:` are the service's own.
"""

from collections.abc import Sequence, Sized
from unicodedata import category

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceNotFoundException, ValidationException
from hashrange.model.limits import TAGS_MAX
from hashrange.model.tables import Table
from hashrange.operations.parse import decode

KEY_LENGTH_MAX = 128
VALUE_LENGTH_MAX = 256
PAGE = 10
"""How many tags one answer lists."""


def check(given: Sequence[requests.Tag]) -> None:
    """Tags that a request gives, to a table that there is or to a new one."""
    seen: set[str] = set()
    for tag in given:
        if not _is_text(tag.key, KEY_LENGTH_MAX) or not tag.key:
            raise ValidationException(f"The Tag Key provided is invalid, Key: {tag.key}")
        if tag.key.lower().startswith("aws:"):
            raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {tag.key}")
        if not _is_text(tag.value, VALUE_LENGTH_MAX):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {tag.value}")
        if tag.key in seen:
            raise ValidationException(
                f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {tag.key}"
            )
        seen.add(tag.key)
    check_count(given)


def check_count(tags: Sized) -> None:
    if len(tags) > TAGS_MAX:
        raise ValidationException(
            "Number of Tags exceed the current limit for the provided ResourceArn"
        )


def _is_text(text: str, length_max: int) -> bool:
    """Letters, numbers and separators of any script, and some signs."""
    return len(text) <= length_max and all(
        sign in "_.:/=+-@" or category(sign)[0] in "LNZ" for sign in text
    )


def parse_tag(body: bytes) -> requests.TagResource:
    given = decode(body, requests.TagResource)
    if not given.tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    check(given.tags)
    return given


def parse_untag(body: bytes) -> requests.UntagResource:
    return decode(body, requests.UntagResource)


def parse_list(body: bytes) -> requests.ListTagsOfResource:
    return decode(body, requests.ListTagsOfResource)


def tag(given: requests.TagResource, moment: Moment) -> Decide:
    table = yield from _table(given.resource_arn)
    tags = {**table.tags, **{tag.key: tag.value for tag in given.tags}}
    check_count(tags)
    return Decision([TableChange(table, replace(table, tags=tags))], lambda _: {})


def untag(given: requests.UntagResource, moment: Moment) -> Decide:
    table = yield from _table(given.resource_arn)
    gone = set(given.tag_keys)
    tags = {key: value for key, value in table.tags.items() if key not in gone}
    return Decision([TableChange(table, replace(table, tags=tags))], lambda _: {})


def list_(given: requests.ListTagsOfResource, moment: Moment) -> Decide:
    table = yield from _table(given.resource_arn)
    start = _start(given.next_token)
    shown = [{"Key": key, "Value": value} for key, value in table.tags.items()]
    page = {"Tags": shown[start : start + PAGE]}
    if start + PAGE < len(shown):
        return answer({**page, "NextToken": str(start + PAGE)})
    return answer(page)


def _start(token: str | None) -> int:
    if token is None:
        return 0
    if not (token.isascii() and token.isdecimal() and len(token) <= 3):
        raise ValidationException("Invalid NextToken")
    return int(token)


def _table(arn: str) -> Fetch[Table]:
    if not arn.startswith("arn:"):
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = yield from fetch.find_table(arn)
    if table is None:
        raise ResourceNotFoundException(
            f"Requested resource not found: ResourceArn: {arn} not found"
        )
    return table
