"""Two tables: the account page needs a request to each of them."""

from datetime import datetime
from typing import Protocol

from hashrange import design as st


class Customer(st.Item):
    key = st.key(st.attr("customer_id"))

    customer_id: st.Slug
    name: str


class Order(st.Item):
    key = st.key(st.attr("customer_id"), "{placed}#{order_id}")

    customer_id: st.Slug
    placed: datetime
    order_id: st.Slug
    lines: dict[str, int]


class Customers(st.Store, Protocol):
    @st.rate(30)
    def customer_of_account_page(self, customer_id: str) -> Customer | None: ...


class Orders(st.Store, Protocol):
    @st.rate(30, items=12)
    def orders_of_account_page(self, customer_id: str) -> st.Query[Order]: ...


customers = st.Table(
    "customers", Customers, volumes=st.volumes(Customer=st.total(1_000_000, size=300))
)
orders = st.Table(
    "orders",
    Orders,
    volumes=st.volumes(Order=st.total(12_000_000, size=300)),
    writes=[st.writes(Order, create=10)],
)
