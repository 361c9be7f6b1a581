"""TagResource, UntagResource and ListTagsOfResource: tags of a table.

Source: API reference; at most 50 tags; keys that begin with `aws:` are the service's own.
"""

from msgspec.structs import replace

from hashrange.engine import fetch
from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Fetch, Moment
from hashrange.model import requests
from hashrange.model.errors import ResourceNotFoundException, ValidationException
from hashrange.model.limits import TAGS_MAX
from hashrange.model.tables import Table
from hashrange.operations.parse import decode

PAGE = 10
"""How many tags one answer lists."""


def parse_tag(body: bytes) -> requests.TagResource:
    given = decode(body, requests.TagResource)
    keys = [tag.key for tag in given.tags]
    if len(set(keys)) < len(keys):
        raise ValidationException("Tag keys must be unique")
    if any(key.lower().startswith("aws:") for key in keys):
        raise ValidationException("Tag keys starting with 'aws:' are reserved for system use")
    return given


def parse_untag(body: bytes) -> requests.UntagResource:
    return decode(body, requests.UntagResource)


def parse_list(body: bytes) -> requests.ListTagsOfResource:
    return decode(body, requests.ListTagsOfResource)


def tag(given: requests.TagResource, moment: Moment) -> Decide:
    table = yield from _table(given.resource_arn)
    tags = {**table.tags, **{tag.key: tag.value for tag in given.tags}}
    if len(tags) > TAGS_MAX:
        raise ValidationException(
            f"One or more parameter values were invalid: Too many tags: at most {TAGS_MAX} tags"
        )
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
