"""ARNs in place of a table's name. Source: wording observed on the service."""

import re

_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}", re.ASCII)
_FORMAT = (
    "Value '{}' at '{}' failed to satisfy constraint: Valid ARN format is "
    "'arn:<awsPartition>:<vendor>:<region>:<subscriber>:resourceType/resourceName', where "
    "Resource name must have length less than or equal to 255, "
    "Resource name must have length greater than or equal to 3, "
    "Resource name must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
)


def fault(arn: str, path: str) -> str | None:
    """The fault of a table's ARN at this path of a request; None if the ARN is valid."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or parts[2] != "dynamodb" or not re.fullmatch("[0-9]{12}", parts[4]):
        return _FORMAT.format(arn, path)
    kind, slash, name = parts[5].partition("/")
    if not re.fullmatch("aws[a-z-]*", parts[1]):
        return f"Invalid AWS partition in '{arn}'"
    if not re.fullmatch("[a-z0-9-]+", parts[3]):
        return f"Invalid AWS region in '{arn}'"
    if slash and kind != "table":
        return f"Invalid resource type in '{arn}'"
    return None if slash and _NAME.fullmatch(name) else _FORMAT.format(arn, path)
