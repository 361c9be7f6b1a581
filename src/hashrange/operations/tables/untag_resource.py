"""UntagResource: removes tags from a table."""

from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.operations.common.parse import decode
from hashrange.operations.tables import resource_arns, tags
from hashrange.operations.tables.tags import Tagging

decide = tags.change


def parse(body: bytes) -> Tagging:
    request = decode(body, requests.UntagResource)
    resource_arns.parse(request.resource_arn)
    if not request.tag_keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    tags.check_count(request.tag_keys)
    return Tagging(request.resource_arn, {}, frozenset(map(tags.checked_key, request.tag_keys)))
