"""SSESpecification: the KMS key that a table's description shows. Items are not encrypted with it.

The rules and messages were observed on the service.
"""

from uuid import NAMESPACE_URL, uuid5

from hashrange.engine.keys import invalid_parameter
from hashrange.model import requests
from hashrange.model.tables import Table

AWS_MANAGED_KEY = "alias/aws/dynamodb"


def check(specification: requests.SSESpecification | None) -> None:
    if specification is None:
        return
    if specification.enabled is False:
        if specification.sse_type is not None:
            raise invalid_parameter("SSEType can not be specified if Enabled is false")
        if specification.kms_master_key_id is not None:
            raise invalid_parameter("KMSMasterKeyId can not be specified if Enabled is false")
    if specification.sse_type == "AES256":
        raise invalid_parameter("SSEType AES256 is not supported")
    if specification.kms_master_key_id is not None and specification.sse_type is None:
        raise invalid_parameter("SSEType KMS is required if KMSMasterKeyId is specified")


def key_arn(
    specification: requests.SSESpecification | None, region: str, account: str
) -> str | None:
    """The ARN of the KMS key that a request names. None means the service's own key, the
    default."""
    if specification is None or not (specification.enabled or specification.sse_type):
        return None
    key = specification.kms_master_key_id or AWS_MANAGED_KEY
    prefix = f"arn:aws:kms:{region}:{account}:"
    if key.startswith("alias/"):
        key = prefix + key
    if key.startswith(f"{prefix}alias/"):
        # a description names the key behind an alias; here that key follows from the alias alone
        key = str(uuid5(NAMESPACE_URL, key))
    return key if key.startswith("arn:") else f"{prefix}key/{key}"


def changed_key_arn(table: Table, specification: requests.SSESpecification) -> str | None:
    """Like `key_arn`, for an existing table. Raises ValidationException if the key is the table's
    present one."""
    wanted = key_arn(specification, table.region, table.account)
    if wanted is None and table.kms_key_arn is None:
        raise invalid_parameter("Table is already encrypted by default")
    if table.kms_key_arn is not None and table.kms_key_arn == specification.kms_master_key_id:
        raise invalid_parameter(
            "Table is already encrypted with given KMSMasterKeyId. "
            "Use KMSMasterKeyId parameter if you want to change Master Key"
        )
    return wanted
