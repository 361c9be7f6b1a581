"""Logins, messages, servers and their members: unequal many-to-many relations."""

from datetime import datetime
from typing import Literal, Protocol

from pydantic import SecretStr

from hashrange import design as st

Method = Literal["EMAIL", "USERNAME", "STEAM"]


class User(st.Item):
    key = st.key("USER#{user_id}", "#METADATA")

    user_id: st.Slug
    username: str


class Login(st.Item):
    key = st.key("USER#{user_id}", "{method}#{handle}")
    by_handle = st.index("gs1", "{method}#{handle}", "USER#{user_id}")
    one_owner = st.unique("{method}#{handle}")

    user_id: st.Slug
    method: Method  # a new way to log in needs no new index
    handle: str
    password: SecretStr | None = None
    confirmed: bool = False


class Organisation(st.Item):
    key = st.key("ORG#{org_id}", "#METADATA")

    org_id: st.Slug
    name: str


class Position(st.Item):
    """A user's role in an organisation."""

    key = st.key("USER#{user_id}", "ORG#{org_id}")

    user_id: st.Slug
    org_id: st.Slug
    role: Literal["Member", "Admin"] = "Member"


class Server(st.Item):
    key = st.key("SERVER#{server_id}", "#METADATA")

    server_id: st.Slug
    name: str


class Membership(st.Item):
    key = st.key("SERVER#{server_id}", "USER#{user_id}")
    of_user = st.index("gs1", "USER#{user_id}", "SERVER#{server_id}")

    server_id: st.Slug
    user_id: st.Slug
    role: Literal["Member", "Admin"] = "Member"
    username: str = st.copy(User, "username", sync="transaction")


class Message(st.Item):
    key = st.key("CHAT#{chat_id}", "MSG#{at}#{message_id}")

    chat_id: st.Slug
    message_id: st.Slug
    at: datetime
    text: str


class Accounts(st.Store, Protocol):
    def user(self, user_id: str) -> User | None:
        """Get a user"""
        ...

    def login(self, method: Method, handle: str) -> Login | None:
        """Get the login of an e-mail address or a user name"""
        ...

    def account(self, user_id: str) -> st.Query[User | Login | Position]:
        """Get a user, all of the user's logins and organisations"""
        ...

    def organisation(self, org_id: str) -> Organisation | None:
        """Get an organisation"""
        ...

    def organisations(self, user_id: str) -> st.Query[Position]:
        """Get the organisations that a user is in, with the role"""
        ...


class Chat(st.Store, Protocol):
    def server(self, server_id: str) -> Server | None:
        """Get a server"""
        ...

    def membership(self, server_id: str, user_id: str) -> Membership | None:
        """Get a user's membership of a server"""
        ...

    def members(self, server_id: str) -> st.Query[Membership]:
        """Get the members of a server, with their names"""
        ...

    @st.counts(Membership)
    def member_count(self, server_id: str) -> int:
        """Count the members of a server"""
        ...

    def servers_of(self, user_id: str) -> st.Query[Membership]:
        """Get a user's memberships"""
        ...

    @st.through(Membership)
    def server_list(self, user_id: str) -> st.Query[Server]:
        """Get the servers that a user is in, with their names"""
        ...

    @st.latest
    def messages(self, chat_id: str) -> st.Query[Message]:
        """Get the messages of a chat, the newest first"""
        ...

    def messages_since(self, chat_id: str, at: st.AtLeast[datetime]) -> st.Query[Message]:
        """Get the messages of a chat since a moment"""
        ...


table = st.Table(
    "chat",
    Accounts,
    Chat,
    index_keys={"gs1": ("gs1pk", "gs1sk")},
    volumes=st.volumes(
        User=1_000_000,
        Server=20_000,
        Membership=st.each(User, mean=8, max=50) & st.each(Server, mean=400, max=1_000_000),
    ),
)
