"""A copy: each membership has its user's name, and a new name is written to all of them."""

from typing import Protocol

from hashrange import design as st


class User(st.Item):
    key = st.key("USER#{user_id}", "#METADATA")

    user_id: st.Slug
    username: str


class Membership(st.Item):
    key = st.key("SERVER#{server_id}", "USER#{user_id}")
    of_user = st.index("gs1", "USER#{user_id}", "SERVER#{server_id}")

    server_id: st.Slug
    user_id: st.Slug
    username: str = st.copy(User, "username", sync="transaction")


class Chat(st.Store, Protocol):
    @st.rate(100)
    def user(self, user_id: str) -> User | None: ...

    @st.rate(100, items=400)
    def member_list(self, server_id: str) -> st.Query[Membership]: ...

    @st.rate(50, items=8)
    def servers_of(self, user_id: str) -> st.Query[Membership]: ...


table = st.Table(
    "chat",
    Chat,
    volumes=st.volumes(
        User=st.total(1_000_000, size=200),
        Membership=st.each(User, mean=8, max=50, size=200),
    ),
    writes=[st.writes(Membership, create=5), st.writes(User, edit=("username",), rate=0.1)],
)
