"""The pages of the console, in the order of the navigation."""

from hashrange.tools.console.pages import (
    export,
    item,
    items,
    learn,
    model,
    partitions,
    query,
    selected,
    similar,
    statement,
    streams,
    tables,
)
from hashrange.tools.console.visits import Page

PAGES: tuple[Page, ...] = (
    learn.PAGE,
    tables.PAGE,
    model.PAGE,
    statement.PAGE,
    items.PAGE,
    query.PAGE,
    streams.PAGE,
    partitions.PAGE,
    export.PAGE,
    tables.DETAILS,
    item.PAGE,
    similar.PAGE,
    selected.PAGE,
)
