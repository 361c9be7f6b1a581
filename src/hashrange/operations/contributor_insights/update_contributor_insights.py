"""UpdateContributorInsights: enables or disables the reports of a table or global index.

A request that changes nothing succeeds and returns the current status. Enabling without a mode sets
the default mode. DISABLE ignores the mode. Captured on the service in October 2026.
"""

from msgspec.structs import replace

from hashrange.engine.decision import Decide, Decision, TableChange, answer
from hashrange.engine.fetch import Moment
from hashrange.model import requests
from hashrange.model.errors import ValidationException
from hashrange.model.insights import DEFAULT_MODE, Insights
from hashrange.model.tables import Index
from hashrange.operations.common.parse import decode
from hashrange.operations.contributor_insights import subject

NOT_ACTIVE = (
    "Table or Index is not in a valid state to update Key Access Insights: "
    "{} must be ACTIVE to enable ContributorInsights."
)


def parse(body: bytes) -> requests.UpdateContributorInsights:
    return decode(body, requests.UpdateContributorInsights)


def decide(request: requests.UpdateContributorInsights, moment: Moment) -> Decide:
    table, owner = yield from subject.find(request.table_name, request.index_name)
    if moment.now < table.active_at:
        raise ValidationException(NOT_ACTIVE.format("TableStatus"))
    if isinstance(owner, Index) and owner.building:
        raise ValidationException(NOT_ACTIVE.format("IndexStatus"))
    insights = _changed(owner.insights, request, moment)
    if insights is owner.insights:
        return answer(subject.shown(table, owner, subject.status(owner, moment.now)))
    changed = replace(owner, insights=insights)
    status = "ENABLING" if insights is not None and insights.enabled else "DISABLING"
    response = subject.shown(table, changed, status)
    return Decision([TableChange(table, table.with_changed(changed))], response)


def _changed(
    old: Insights | None, request: requests.UpdateContributorInsights, moment: Moment
) -> Insights | None:
    """The insights after the request: the object `old` itself if nothing changes."""
    now, settled_at = moment.now, moment.now + moment.settings.table_delay
    enabled = old is not None and old.enabled
    if request.contributor_insights_action == "DISABLE":
        if old is None or not enabled:
            return old
        return replace(old, enabled=False, changed_at=now, settled_at=settled_at)
    mode = request.contributor_insights_mode or DEFAULT_MODE
    if old is None or not enabled:
        return Insights(True, mode, now, now, settled_at)
    if old.mode == mode:
        return old
    return replace(old, mode=mode, changed_at=now, settled_at=settled_at)
