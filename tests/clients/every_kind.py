"""A model with every kind of key and pattern, for exports to other languages."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from pydantic import Field

from hashrange import design as st

Count = Annotated[int, Field(ge=-500, le=500)]
Price = Annotated[Decimal, Field(ge=0, le=900, decimal_places=2)]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 20


class Sale(st.Item):
    key = st.key("shop#{shop}", "sale#{number:+04d}#{id}")
    by_price = st.index("GSI1", "shop#{shop}", "price#{price:08.2f}")
    by_score = st.index("GSI2", "colour#{colour}", "score#{score|desc:04d}")
    by_level = st.index("GSI3", "level#{level:02d}", "{at}")
    by_day = st.index("GSI4", "days#{shop}#{at:%Y-%m}", "{at}#{id}")
    spread = st.index("GSI5", "spread#{id|shard:3}", "{at:%Y-%m-%dT%H:%M:%S.%fZ}#{id}")
    by_hour = st.index("GSI6", "hour#{state}", "{at:%Y-%m-%d %H:%M}")

    shop: st.Slug
    number: Count
    id: UUID
    price: Price
    score: Annotated[int, Field(ge=0, le=900)]
    colour: Colour
    level: Level
    state: Literal["new", "old", "gone"]
    at: datetime
    day: date
    note: str | None = None
    tags: set[str] | None = None
    sizes: set[int] | None = None
    more: dict[str, Any] = Field(default_factory=dict)
    blob: bytes = b"x"
    seen: bool = False


class Visit(st.Item):
    key = st.key("shop#{shop}", "visit#{visitor}")
    shop: st.Slug
    visitor: str


class Person(st.Item):
    key = st.key("person#{email}", "info")
    at_domain = st.index("GSI1", "domain#{domain}", "{email}")
    email: Annotated[str, Field(examples=[f"p{n}@d{n % 2}" for n in range(9)])]
    place: Annotated[st.Slug, Field(examples=[f"u{n % 3}-{n}" for n in range(9)])]
    near = st.index("GSI2", "near#{place:.2}", "{place}")

    @st.derived("email")
    def domain(self) -> str:
        return self.email.rpartition("@")[2]


class Old(st.Item, shape=2):
    key = st.key("old#{id}", "info")
    id: st.Slug

    @staticmethod
    @st.upgrade(from_version=1)
    def add_nothing(values: dict[str, Any]) -> dict[str, Any]:
        return values


class Mark(st.Item):
    key = st.key("mark#{shop}#{id|shard:4}", "{id}")
    shop: st.Slug
    id: st.Slug


class Kinds(st.Store, Protocol):
    def sale(self, shop: str, number: int, id: UUID) -> Sale | None: ...
    def sales(self, shop: str, number: st.Between[int]) -> st.Query[Sale]: ...
    def sales_after(self, shop: str, number: st.After[int]) -> st.Query[Sale]: ...
    def sales_before(self, shop: str, number: st.Before[int]) -> st.Query[Sale]: ...
    def at_shop(self, shop: str) -> st.Query[Sale | Visit]: ...
    def visits(self, shop: str, visitor: st.Prefix[str]) -> st.Query[Visit]: ...
    def visits_from(self, shop: str, visitor: st.AtLeast[str]) -> st.Query[Visit]: ...
    @st.using(Sale.by_price)
    def cheap(self, shop: str, price: st.AtMost[Decimal]) -> st.Query[Sale]: ...
    @st.using(Sale.by_price)
    def dear(self, shop: str, price: st.After[Decimal]) -> st.Query[Sale]: ...
    def best(self, colour: st.AnyOf[Colour], score: st.AtLeast[int]) -> st.Query[Sale]: ...
    @st.using(Sale.by_level)
    @st.latest
    def last(self, level: Level) -> Sale | None: ...
    @st.using(Sale.by_level)
    def until(self, level: Level, at: st.Before[datetime]) -> st.Query[Sale]: ...
    @st.where("note = :note AND seen = :seen")
    @st.using(Sale.by_level)
    def noted(self, level: Level, note: str, seen: bool) -> st.Query[Sale]: ...
    def in_month(self, shop: str, at: st.Month) -> st.Query[Sale]: ...
    def all_since(self, at: st.AtLeast[datetime]) -> st.Query[Sale]: ...
    @st.scatter("state")
    @st.using(Sale.by_hour)
    def in_hour(self, at: st.Hour) -> st.Query[Sale]: ...
    @st.counts(Visit)
    def visit_count(self, shop: str) -> int: ...
    @st.buckets(at_most=3)
    @st.using(Sale.by_day)
    def by_month(self, shop: str, at: st.AtLeast[datetime]) -> st.Query[Sale]: ...
    def old(self, id: str) -> Old | None: ...
    def one_of_shards(self, shop: str, id: str) -> Mark | None: ...
    def at_domain(self, domain: str) -> st.Query[Person]: ...
    def near(self, place: st.Prefix[str]) -> st.Query[Person]: ...
    @st.using(Person.at_domain)
    def like(self, email: str) -> st.Query[Person]: ...
    def marks(self, shop: str) -> st.Query[Mark]: ...
    @st.scan_ok("few marks")
    def every_mark(self) -> st.Query[Mark]: ...


table = st.Table("kinds", Kinds)
