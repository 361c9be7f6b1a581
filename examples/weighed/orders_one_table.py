"""One table: a customer and the customer's orders are one item collection, read by one query."""

from datetime import datetime
from typing import Protocol

from hashrange import design as st


class Customer(st.Item):
    key = st.key("customer#{customer_id}", "profile")

    customer_id: st.Slug
    name: str


class Order(st.Item):
    key = st.key("customer#{customer_id}", "order#{placed}#{order_id}")

    customer_id: st.Slug
    placed: datetime
    order_id: st.Slug
    lines: dict[str, int]


class Shop(st.Store, Protocol):
    @st.rate(30, items=13)
    def account_page(self, customer_id: str) -> st.Query[Customer | Order]: ...


SIZES = st.volumes(
    Customer=st.total(1_000_000, size=300), Order=st.each(Customer, mean=12, max=500, size=300)
)
table = st.Table("shop", Shop, volumes=SIZES, writes=[st.writes(Order, create=10)])
