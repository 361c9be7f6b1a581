"""A model to begin with, which is shown at the end of the tour."""

from datetime import date
from typing import Protocol

from hashrange import design as st


class Order(st.Item):
    key = st.key("customer#{customer}", "order#{placed}#{number}")
    # sparse: only the orders that have a warehouse
    to_ship = st.index("GSI1", "warehouse#{warehouse}", "{placed}")
    customer: st.Slug
    placed: date
    number: st.Slug
    warehouse: st.Slug | None = None  # until it is shipped


class Shop(st.Store, Protocol):
    def orders(self, customer: st.Slug) -> st.Query[Order]: ...
    def to_ship(self, warehouse: st.Slug, placed: st.AtMost[date]) -> st.Query[Order]: ...


table = st.Table("shop", Shop)
