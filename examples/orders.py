"""Customers, orders and carts. Fields that change often are in items of their own."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, Protocol

from hashrange import design as st


class Customer(st.Item):
    key = st.key("customer#{customer_id}", "profile")

    customer_id: st.Slug
    name: str
    email: str


class Order(st.Item):
    key = st.key("customer#{customer_id}", "order#{placed:%Y-%m-%dT%H:%M:%S.%fZ}#{order_id}")
    unfulfilled = st.index(
        "unfulfilled",
        "unfulfilled#{order_id|shard:10}",
        "{placed}#{order_id}",
        when="status = :open",
        open="open",
    )

    customer_id: st.Slug
    order_id: st.Slug
    placed: datetime
    status: Literal["open", "shipped", "cancelled"] = "open"
    lines: dict[str, int]


class CartLine(st.Item):
    key = st.key("customer#{customer_id}", "cart#{product_id}")

    customer_id: st.Slug
    product_id: Annotated[st.Slug, st.ref("Product")]
    quantity: int
    expires: st.TTL | None = None


class Product(st.Item):
    """The content of a product: large, and rarely written."""

    key = st.key("product#{product_id}", "content")

    product_id: st.Slug
    title: str
    description: str
    price: Decimal


class Stock(st.Item):
    """The stock of a product: small, and written at every sale."""

    key = st.key("product#{product_id}", "stock")

    product_id: st.Slug
    available: int
    version: st.Version = 0


class Shop(st.Store, Protocol):
    def customer(self, customer_id: str) -> Customer | None:
        """Get a customer"""
        ...

    def orders(self, customer_id: str) -> st.Query[Order]:
        """Get a customer's orders in the order of time"""
        ...

    def orders_since(
        self, customer_id: str, since: Annotated[datetime, st.at_least("placed")]
    ) -> st.Query[Order]:
        """Get a customer's orders since a moment"""
        ...

    @st.latest
    def latest_order(self, customer_id: str) -> Order | None:
        """Get a customer's latest order"""
        ...

    def order(self, customer_id: str, placed: datetime, order_id: str) -> Order | None:
        """Get one order"""
        ...

    @st.using(Order.unfulfilled)
    def unfulfilled(self) -> st.Query[Order]:
        """Get all unfulfilled orders, the oldest first"""
        ...

    def cart(self, customer_id: str) -> st.Query[CartLine]:
        """Get a customer's cart"""
        ...

    def cart_line(self, customer_id: str, product_id: str) -> CartLine | None:
        """Get one line of a cart"""
        ...

    def product(self, product_id: str) -> Product | None:
        """Get a product's content"""
        ...

    def stock(self, product_id: str) -> Stock | None:
        """Get how many of a product there are"""
        ...

    def product_in_full(self, product_id: str) -> st.Query[Product | Stock]:
        """Get a product's content and how many there are"""
        ...


table = st.Table("shop", Shop)
