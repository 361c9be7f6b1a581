"""Contributor Insights of a table or global index, as the catalog stores them.

Source: developer guide, CloudWatch Contributor Insights for DynamoDB: How it works. How statuses
and rules change was captured on the service in autumn 2026.
"""

from typing import Literal, NamedTuple

from msgspec import Struct

InsightsMode = Literal["ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"]
DEFAULT_MODE: InsightsMode = "ACCESSED_AND_THROTTLED_KEYS"


class Rule(NamedTuple):
    """A rule of CloudWatch. Its report shows the keys that are accessed or throttled most.

    If `accessed` is true, it shows accessed keys, otherwise throttled keys. A key is a partition
    key or, with `sort_keys`, a partition key with a sort key.
    """

    name: str
    accessed: bool
    sort_keys: bool


class Insights(Struct, frozen=True):
    """The settings of Contributor Insights, with times in epoch seconds.

    The status is not stored: it follows from `settled_at`. `made_at` is the time at which the rules
    were created, and is part of their names; a later change of the mode does not change it. The
    mode stays stored after Contributor Insights are disabled.
    """

    enabled: bool
    mode: InsightsMode
    made_at: float
    changed_at: float
    settled_at: float

    def status(self, now: float) -> str:
        if self.enabled:
            return "ENABLED" if now >= self.settled_at else "ENABLING"
        return "DISABLED" if now >= self.settled_at else "DISABLING"

    def rules(self, table_name: str, index_name: str | None, has_sort_key: bool) -> list[Rule]:
        """The rules that exist while the status is ENABLED."""
        resource = table_name if index_name is None else f"{table_name}-{index_name}"
        suffix = f"{resource}-{int(self.made_at * 1000)}"
        accessed_too = self.mode == "ACCESSED_AND_THROTTLED_KEYS"
        return [
            Rule(f"DynamoDBContributorInsights-{kind}-{suffix}", kind[2] == "C", kind[0] == "S")
            for kind in ("PKC", "SKC", "PKT", "SKT")
            if (accessed_too or kind[2] == "T") and (has_sort_key or kind[0] == "P")
        ]
