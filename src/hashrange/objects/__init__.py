"""Object stores: a folder, or a bucket of any S3-compatible service.

An object is written once and never changed. So a writer that was interrupted, or received no
answer, can try again without harm.
"""

from hashrange.objects.address import open_objects
from hashrange.objects.store import (
    Listed,
    NoSuchObject,
    ObjectError,
    Objects,
    ObjectTooLarge,
    Taken,
    Unreachable,
    get,
    probe,
)

__all__ = [
    "Listed",
    "NoSuchObject",
    "ObjectError",
    "ObjectTooLarge",
    "Objects",
    "Taken",
    "Unreachable",
    "get",
    "open_objects",
    "probe",
]
