"""Opens the object store at an address."""

import os

from hashrange.objects.folder import Folder
from hashrange.objects.store import ObjectError, Objects

_S3 = "s3://"


def open_objects(address: str, *, endpoint_url: str | None = None) -> Objects:
    """The store at `s3://bucket/prefix` or in a folder. The first write creates the folder.

    boto3 finds the region, the credentials and, without `endpoint_url`, the endpoint in the usual
    places (such as `AWS_ENDPOINT_URL_S3`). This call sends no request. Raises `ObjectError`.
    """
    if not address.startswith(_S3):
        if "://" in address or not address:
            raise ObjectError(f"{address!r}: name a folder, or s3://bucket/prefix")
        return Folder(os.path.abspath(address))
    bucket, _, prefix = address.removeprefix(_S3).partition("/")
    if not bucket:
        raise ObjectError(f"{address}: has no bucket; write s3://bucket/prefix")
    try:
        from hashrange.objects.s3 import S3
    except ImportError as error:
        raise ObjectError(
            f"{address}: needs boto3; install it with: pip install 'hashrange[boto3]'"
        ) from error
    return S3(bucket, prefix.strip("/"), endpoint_url)
