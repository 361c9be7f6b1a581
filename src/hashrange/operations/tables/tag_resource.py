"""TagResource: adds tags to a table, or changes their values."""

from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.operations.common.parse import decode
from hashrange.operations.tables import resource_arns, tags
from hashrange.operations.tables.tags import Tagging

decide = tags.change


def parse(body: bytes) -> Tagging:
    request = decode(body, requests.TagResource)
    resource_arns.parse(request.resource_arn)
    if not request.tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    return Tagging(request.resource_arn, tags.check(request.tags), frozenset())
