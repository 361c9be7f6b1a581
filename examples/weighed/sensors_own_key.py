"""A key of its own: a room is read by its id, and indexes find the rooms of a floor or building."""

from typing import Protocol

from hashrange import design as st


class Building(st.Item):
    key = st.key("building#{building_id}", "info")

    building_id: st.Slug
    name: str


class Room(st.Item):
    key = st.key("room#{room_id}", "info")
    on_floor = st.index("GSI1", "floor#{building_id}#{floor_id}", "room#{room_id}")
    in_building = st.index("GSI2", "building#{building_id}", "room#{room_id}")

    building_id: st.Slug
    floor_id: st.Slug
    room_id: st.Slug
    seats: int = 0


class Rooms(st.Store, Protocol):
    @st.rate(100)
    def room(self, room_id: str) -> Room | None: ...

    @st.rate(20, items=25)
    def rooms_of_floor(self, building_id: str, floor_id: str) -> st.Query[Room]: ...

    @st.rate(2, items=250)
    def rooms_of_building(self, building_id: str) -> st.Query[Room]: ...


table = st.Table(
    "rooms",
    Rooms,
    Building,
    volumes=st.volumes(
        Building=st.total(1_000, size=200), Room=st.each(Building, mean=250, max=2_000, size=200)
    ),
    writes=[st.writes(Room, create=1, edit=("seats",), rate=10)],
)
