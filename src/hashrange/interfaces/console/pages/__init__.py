"""The pages of the console, in the order of the navigation."""

from hashrange.interfaces.console.pages import items, tables
from hashrange.interfaces.console.visits import Page

PAGES: tuple[Page, ...] = (
    tables.PAGE,
    items.PAGE,
    tables.DETAILS,
)
