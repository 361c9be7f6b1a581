"""The pages of the console, in the order of the navigation."""

from hashrange.tools.console.pages import (
    columns,
    entity,
    export,
    facets,
    item,
    items,
    learn,
    making,
    model,
    partitions,
    query,
    selected,
    similar,
    statement,
    streams,
    tables,
    value,
)
from hashrange.tools.console.visits import Page

PAGES: tuple[Page, ...] = (
    learn.PAGE,
    tables.PAGE,
    model.PAGE,
    entity.PAGE,
    statement.PAGE,
    items.PAGE,
    query.PAGE,
    streams.PAGE,
    partitions.PAGE,
    export.PAGE,
    tables.DETAILS,
    making.PAGE,
    making.DELETION,
    item.PAGE,
    value.PAGE,
    similar.PAGE,
    selected.PAGE,
    columns.PAGE,
    facets.PAGE,
)
