"""One composite sort key: city, district and street are levels of one index."""

from typing import Protocol

from hashrange import design as st


class Address(st.Item):
    key = st.key("address#{address_id}", "info")
    by_place = st.index("GSI1", "city#{city}", "{district}#{street}#{address_id}")

    address_id: st.Slug
    city: st.Slug
    district: st.Slug
    street: st.Slug


class Addresses(st.Store, Protocol):
    @st.rate(1, items=5_000)
    def of_city(self, city: str) -> st.Query[Address]: ...

    @st.rate(5, items=200)
    def of_district(self, city: str, district: str) -> st.Query[Address]: ...

    @st.rate(20, items=20)
    def of_street(self, city: str, district: str, street: str) -> st.Query[Address]: ...


table = st.Table(
    "addresses",
    Addresses,
    volumes=st.volumes(Address=st.total(1_000_000, size=250)),
    writes=[st.writes(Address, create=5)],
)
