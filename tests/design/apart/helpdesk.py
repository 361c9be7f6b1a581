"""A help desk: tickets, comments, agents, articles and ratings, with forty patterns.

`ANSWERS` says for each pattern, apart from the toolkit, which items it returns and in which order.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Protocol

from pydantic import Field

from hashrange import design as st


class State(StrEnum):
    NEW = "new"
    OPEN = "open"
    DONE = "done"


class Urgency(IntEnum):
    LOW = 1
    HIGH = 5
    FIRE = 12


class Ticket(st.Item):
    key = st.key("ticket#{ticket_id}", "info")
    by_state = st.index("GSI1", "state#{state}", "{due}#{ticket_id}")
    by_agent = st.index("GSI2", "agent#{agent}", "{urgency|desc:03d}#{due}#{ticket_id}")
    by_month = st.index("GSI3", "tickets#{opened:%Y-%m}", "{opened}#{ticket_id}")
    by_domain = st.index("GSI4", "domain#{domain}", "{opened}#{ticket_id}")
    by_shard = st.index("GSI5", "due#{ticket_id|shard:4}", "{due}#{ticket_id}")
    burning = st.index("GSI6", "burning", "{due}#{ticket_id}", when="urgency = :u", u=12)

    ticket_id: st.Slug
    state: State = State.NEW
    urgency: Urgency = Urgency.LOW
    agent: st.Slug | None = None
    opened: datetime
    due: date
    email: str
    replies: Annotated[int, Field(ge=0)] = 0
    tags: set[str] = Field(default_factory=set)

    @st.derived("email")
    def domain(self) -> st.Slug:
        return self.email.rpartition("@")[2].replace(".", "-") or "none"


class Comment(st.Item):
    key = st.key("ticket#{ticket_id}", "comment#{number:05d}")
    by_author = st.index("GSI2", "author#{author}", "{at}#{ticket_id}#{number:05d}")

    ticket_id: st.Slug
    number: int
    author: st.Slug
    at: datetime
    text: str = ""


class Agent(st.Item):
    key = st.key("agent#{agent}", "info")
    by_score = st.index("GSI1", "board#{team}", "{score|desc:+05d}#{agent}")
    one_email = st.unique("email#{email}")

    agent: st.Slug
    team: st.Slug
    score: int = 0
    email: str


class Article(st.Item):
    key = st.key("article#{slug:.2}", "{slug}")
    by_lane = st.index("GSI3", "lane#{lane}", "{changed}#{slug}")

    slug: st.Slug
    lane: Annotated[int, Field(ge=0, lt=3)]
    changed: date
    title: str


class Rating(st.Item):
    key = st.key("rating#{agent}#{day:%Y-%m}", "{day}#{ticket_id}")

    agent: st.Slug
    day: date
    ticket_id: st.Slug
    stars: Annotated[int, Field(ge=1, le=5)]


class Brief(st.View[Ticket]):
    ticket_id: str
    due: date
    domain: str


class Desk(st.Store, Protocol):
    def ticket(self, ticket_id: str) -> Ticket | None: ...
    def some_tickets(self, ticket_id: st.AnyOf[str]) -> st.Query[Ticket]: ...
    def with_comments(self, ticket_id: str) -> st.Query[Ticket | Comment]: ...
    def comments(self, ticket_id: str) -> st.Query[Comment]: ...
    def comment(self, ticket_id: str, number: int) -> Comment | None: ...
    def comments_from(self, ticket_id: str, number: st.AtLeast[int]) -> st.Query[Comment]: ...
    def comments_within(self, ticket_id: str, number: st.Between[int]) -> st.Query[Comment]: ...
    @st.latest
    def last_comment(self, ticket_id: str) -> Comment | None: ...
    @st.counts(Comment)
    def comment_count(self, ticket_id: str) -> int: ...
    def in_state(self, state: State) -> st.Query[Ticket]: ...
    def in_states(self, state: st.AnyOf[State]) -> st.Query[Ticket]: ...
    def due_in_states(self, state: st.AnyOf[State], due: st.Between[date]) -> st.Query[Brief]: ...
    @st.scatter("state")
    def all_due(self, due: st.AtMost[date]) -> st.Query[Ticket]: ...
    @st.scatter("state")
    @st.counts(Ticket)
    def total(self) -> int: ...
    @st.scatter("state")
    @st.latest
    def last_due(self) -> Ticket | None: ...
    def of_agent(self, agent: str) -> st.Query[Ticket]: ...
    def urgent(self, agent: str, urgency: st.AtLeast[Urgency]) -> st.Query[Ticket]: ...
    def calm(self, agent: str, urgency: st.Before[Urgency]) -> st.Query[Ticket]: ...
    def exactly(self, agent: str, urgency: Urgency) -> st.Query[Ticket]: ...
    def due_of(
        self, agent: str, urgency: Urgency, due: st.AtMost[date] | None = None
    ) -> st.Query[Ticket]: ...
    def of_month(self, opened: st.Month) -> st.Query[Ticket]: ...
    @st.buckets(at_most=6)
    def opened(self, opened: st.Between[datetime]) -> st.Query[Ticket]: ...
    @st.buckets(at_most=6)
    @st.latest
    def opened_latest(self, opened: st.Between[datetime]) -> st.Query[Ticket]: ...
    @st.buckets(at_most=6)
    @st.latest
    def newest_before(self, opened: st.Before[datetime]) -> Ticket | None: ...
    @st.buckets(at_most=6)
    @st.counts(Ticket)
    def opened_count(self, opened: st.Between[datetime]) -> int: ...
    def of_domain(self, domain: str) -> st.Query[Ticket]: ...
    def domain_since(self, domain: str, opened: st.AtLeast[datetime]) -> st.Query[Brief]: ...
    @st.where("contains(tags, :tag)")
    def tagged(self, domain: str, tag: str) -> st.Query[Ticket]: ...
    def queue(self, due: st.AtMost[date]) -> st.Query[Ticket]: ...
    def of_worker(self, shard: st.Shard) -> st.Query[Ticket]: ...
    @st.using(Ticket.burning)
    def on_fire(self) -> st.Query[Ticket]: ...
    def by_author(self, author: str) -> st.Query[Comment]: ...
    def author_on(self, author: str, at: st.Day) -> st.Query[Comment]: ...
    def agent(self, agent: str) -> Agent | None: ...
    def board(self, team: str) -> st.Query[Agent]: ...
    def above(self, team: str, score: st.After[int]) -> st.Query[Agent]: ...
    def articles(self, slug: st.Prefix[str]) -> st.Query[Article]: ...
    @st.scatter("lane")
    def changed(self, changed: st.AtLeast[date]) -> st.Query[Article]: ...
    @st.buckets(at_most=12)
    def ratings(self, agent: str, day: st.Between[date]) -> st.Query[Rating]: ...
    @st.buckets(at_most=12)
    @st.latest
    def last_rating(self, agent: str, day: st.Between[date]) -> Rating | None: ...


def utc_day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


Answer = tuple[tuple[type, ...], Callable[..., bool], Callable[[Any], Any] | None, str]
"""The classes, whether an item fits the arguments, the order, and what is asked for."""
MANY, LATEST, FIRST, LAST, COUNT = "many", "latest", "first", "last", "count"
T, C, A, R, B = (Ticket,), (Comment,), (Agent,), (Article,), (Rating,)


def by_due(t: Ticket) -> Any:
    return t.due, t.ticket_id


def domain(t: Ticket) -> str:
    return t.email.split("@")[1].replace(".", "-")


def by_opened(t: Ticket) -> Any:
    return t.opened, t.ticket_id


def by_urgency(t: Ticket) -> Any:
    return -t.urgency, t.due, t.ticket_id


ANSWERS: dict[str, Answer] = {
    "ticket": (T, lambda t, i: t.ticket_id == i, None, FIRST),
    "some_tickets": (T, lambda t, i: t.ticket_id in i, None, MANY),
    "with_comments": ((Ticket, Comment), lambda t, i: t.ticket_id == i, None, MANY),
    "comments": (C, lambda c, i: c.ticket_id == i, lambda c: c.number, MANY),
    "comment": (C, lambda c, i, n: (c.ticket_id, c.number) == (i, n), None, FIRST),
    "comments_from": (C, lambda c, i, n: c.ticket_id == i and c.number >= n,
                      lambda c: c.number, MANY),
    "comments_within": (C, lambda c, i, n: c.ticket_id == i and n[0] <= c.number <= n[1],
                        lambda c: c.number, MANY),
    "last_comment": (C, lambda c, i: c.ticket_id == i, lambda c: c.number, LAST),
    "comment_count": (C, lambda c, i: c.ticket_id == i, None, COUNT),
    "in_state": (T, lambda t, s: t.state == s, by_due, MANY),
    "in_states": (T, lambda t, s: t.state in s, by_due, MANY),
    "due_in_states": (T, lambda t, s, d: t.state in s and d[0] <= t.due <= d[1], by_due, MANY),
    "all_due": (T, lambda t, d: t.due <= d, by_due, MANY),
    "total": (T, lambda t: True, None, COUNT),
    "last_due": (T, lambda t: True, by_due, LAST),
    "of_agent": (T, lambda t, a: t.agent == a, by_urgency, MANY),
    "urgent": (T, lambda t, a, u: t.agent == a and t.urgency >= u, by_urgency, MANY),
    "calm": (T, lambda t, a, u: t.agent == a and t.urgency < u, by_urgency, MANY),
    "exactly": (T, lambda t, a, u: t.agent == a and t.urgency == u, by_urgency, MANY),
    "due_of": (T, lambda t, a, u, d: t.agent == a and t.urgency == u and t.due <= d,
               by_urgency, MANY),
    "of_month": (T, lambda t, d: (t.opened.year, t.opened.month) == (d.year, d.month),
                 by_opened, MANY),
    "opened": (T, lambda t, m: m[0] <= t.opened <= m[1], by_opened, MANY),
    "opened_latest": (T, lambda t, m: m[0] <= t.opened <= m[1], by_opened, LATEST),
    "newest_before": (T, lambda t, m: t.opened < m, by_opened, LAST),
    "opened_count": (T, lambda t, m: m[0] <= t.opened <= m[1], None, COUNT),
    "of_domain": (T, lambda t, d: domain(t) == d, by_opened, MANY),
    "domain_since": (T, lambda t, d, m: domain(t) == d
                     and t.opened >= m, by_opened, MANY),
    "tagged": (T, lambda t, d, g: domain(t) == d and g in t.tags,
               by_opened, MANY),
    "queue": (T, lambda t, d: t.due <= d, by_due, MANY),
    "on_fire": (T, lambda t: t.urgency == 12, by_due, MANY),
    "by_author": (C, lambda c, a: c.author == a,
                  lambda c: (c.at, c.ticket_id, c.number), MANY),
    "author_on": (C, lambda c, a, d: c.author == a and utc_day(c.at) == d,
                  lambda c: (c.at, c.ticket_id, c.number), MANY),
    "agent": (A, lambda a, i: a.agent == i, None, FIRST),
    "board": (A, lambda a, t: a.team == t, lambda a: (-a.score, a.agent), MANY),
    "above": (A, lambda a, t, s: a.team == t and a.score > s,
              lambda a: (-a.score, a.agent), MANY),
    "articles": (R, lambda r, p: r.slug.startswith(p), lambda r: r.slug, MANY),
    "changed": (R, lambda r, d: r.changed >= d, lambda r: (r.changed, r.slug), MANY),
    "ratings": (B, lambda b, a, d: b.agent == a and d[0] <= b.day <= d[1],
                lambda b: (b.day, b.ticket_id), MANY),
    "last_rating": (B, lambda b, a, d: b.agent == a and d[0] <= b.day <= d[1],
                    lambda b: (b.day, b.ticket_id), LAST),
}  # fmt: skip
table = st.Table("desk", Desk)
