"""Renders the records of a table's log as its stream shows them.

Source: shapes Record and StreamRecord.
"""

from typing import Any, ClassVar

from msgspec import Raw
from msgspec.json import Decoder

from hashrange.engine.keyspace.keys import parse_raw
from hashrange.engine.log.records import Logged, Record
from hashrange.model.streams import Stream
from hashrange.model.values import item_size

_decode_members = Decoder(dict[str, Raw]).decode


class StreamView:
    """Renders records of the log for GetRecords.

    `service` is the user identity in the records of deleted expired items.
    """

    __slots__ = ("_key", "_new", "_old", "_region", "_space", "_type")

    service: ClassVar = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}

    def __init__(self, stream: Stream) -> None:
        self._space = stream.space
        self._type = stream.view
        self._new = stream.view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
        self._old = stream.view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES")
        self._key = (stream.hash,) if stream.range is None else (stream.hash, stream.range)
        self._region = stream.table_arn.split(":")[3]

    def render(self, record: Record) -> tuple[dict[str, Any], int]:
        """The stream record, and its SizeBytes: the size of the images and keys that it shows."""
        raw = record.row.raw
        if not raw:
            return self._render_first_format(record)
        logged, place = record.logged, record.place
        keys = dict(zip(self._key, parse_raw(raw), strict=True))
        size = item_size(keys)
        content: dict[str, Any] = {
            "ApproximateCreationDateTime": place.milliseconds // 1000,
            "Keys": keys,
        }
        if self._new and logged.new_bytes:
            content["NewImage"] = logged.new
            size += logged.new_bytes
        if self._old and logged.old_bytes:
            content["OldImage"] = logged.old
            size += logged.old_bytes
        content["SizeBytes"] = size
        content["StreamViewType"] = self._type
        shown = self._shown(record, {"eventName": _event_name(logged)}, content)
        if logged.cause == "TTL":
            shown["userIdentity"] = self.service
        return shown, size

    def _render_first_format(self, record: Record) -> tuple[dict[str, Any], int]:
        """The stream record for a record that was written by a database of format 1.

        Such a record has no raw key, and was rendered when it was written. It is at most a day old,
        so it need not be rewritten.
        """
        members = _decode_members(record.row.json)
        content = _decode_members(members["dynamodb"])
        return self._shown(record, members, content), record.row.size

    def _shown(
        self, record: Record, members: dict[str, Any], content: dict[str, Any]
    ) -> dict[str, Any]:
        """A stream record with these members. `content` is that of its member `dynamodb`."""
        content["SequenceNumber"] = record.place.sequence_number
        return {
            "eventID": record.place.event_id(self._space),
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            **members,
            "dynamodb": content,
        }


def _event_name(logged: Logged) -> str:
    if not logged.old_bytes:
        return "INSERT"
    return "MODIFY" if logged.new_bytes else "REMOVE"
