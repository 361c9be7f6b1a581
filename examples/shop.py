"""A shop: the model of the README.

python examples/shop.py                     the plan
hashrange design draw examples/shop.py ...  its pictures
"""

from datetime import date
from typing import Protocol

from hashrange import design as st


class Order(st.Item):
    key = st.key("customer#{customer}", "order#{placed}#{number}")
    to_ship = st.index("GSI1", "warehouse#{warehouse}", "{placed}")
    customer: str
    placed: date
    number: st.Slug
    warehouse: str | None = None  # until it is shipped


class Shop(st.Store, Protocol):
    def orders(self, customer: str) -> st.Query[Order]: ...
    def orders_of(self, customer: str, placed: date) -> st.Query[Order]: ...
    def to_ship(self, warehouse: str, placed: st.AtMost[date]) -> st.Query[Order]: ...


table = st.Table("shop", Shop)

if __name__ == "__main__":
    print(table.plan())
