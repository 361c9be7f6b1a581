"""Users, organisations, repositories, issues and pull requests, stars and forks, in one table."""

from datetime import UTC, datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field

from hashrange import design as st

Login = Annotated[st.Slug, Field(max_length=39)]
Name = Annotated[st.Slug, Field(max_length=100)]
Count = Annotated[int, Field(ge=0)]


class User(st.Item):
    key = st.key("user#{login}", "info")
    by_owner = st.index("GSI1", "owner#{login}", "info")
    one_login = st.unique("{login}", namespace="logins")  # a namespace that organisations share
    one_email = st.unique("{email}")

    login: Login
    email: Annotated[str, Field(max_length=254)]
    joined: datetime = st.now(create=True)


class Organisation(st.Item):
    key = st.key("org#{org}", "info")
    one_login = st.unique("{org}", namespace="logins")

    org: Login
    title: str


class Membership(st.Item):
    key = st.key("org#{org}", "member#{member}")
    of_member = st.index("GSI1", "member#{member}", "org#{org}")

    org: Login
    member: Annotated[Login, st.ref(User)]
    role: Literal["owner", "member"] = "member"


class Repository(st.Item):
    key = st.key("repo#{owner}#{name}", "info")
    by_owner = st.index("GSI1", "owner#{owner}", "repo#{name}")

    owner: Login  # a user or an organisation
    name: Name
    forked_from: str | None = None
    stars: Count = 0
    forks: Count = 0
    open_issues: Count = 0
    last_number: Count = 0  # of the latest issue or pull request


class Issue(st.Item):
    key = st.key("repo#{owner}#{name}", "issue#{number:07d}")
    still_open = st.index(
        "GSI2", "repo#{owner}#{name}", "issue#{number:07d}", when="status = :open", open="open"
    )
    by_author = st.index("GSI3", "author#{author}", "{opened}#{number:07d}")

    owner: Login
    name: Name
    number: Count
    title: str
    author: Annotated[Login, st.ref(User)]
    opened: datetime = st.now(create=True)
    status: Literal["open", "closed"] = "open"


class PullRequest(st.Item):
    key = st.key("repo#{owner}#{name}", "pull#{number:07d}")
    still_open = st.index(
        "GSI2", "repo#{owner}#{name}", "pull#{number:07d}", when="status = :open", open="open"
    )
    by_author = st.index("GSI3", "author#{author}", "{opened}#{number:07d}")

    owner: Login
    name: Name
    number: Annotated[Count, st.ref(Issue)]
    title: str
    author: Annotated[Login, st.ref(User)]
    opened: datetime = st.now(create=True)
    status: Literal["open", "closed", "merged"] = "open"


class Comment(st.Item):
    """A comment on an issue or a pull request; both are numbered in one sequence."""

    key = st.key("talk#{owner}#{name}#{number:07d}", "{written}#{comment_id}")

    owner: Login
    name: Name
    number: Annotated[Count, st.ref(Issue), st.ref(PullRequest)]
    comment_id: st.Slug = st.ulid()
    written: datetime = st.now(create=True)
    author: Annotated[Login, st.ref(User)]
    text: str


class Star(st.Item):
    key = st.key("repo#{owner}#{name}", "star#{login}")
    by_login = st.index("GSI1", "starred#{login}", "{at}#{owner}#{name}")

    owner: Login
    name: Name
    login: Annotated[Login, st.ref(User)]
    at: datetime = st.now(create=True)


class Fork(st.Item):
    key = st.key("repo#{owner}#{name}", "fork#{by}")

    owner: Login
    name: Name
    by: Login


class Hub(st.Store, Protocol):
    def user(self, login: str) -> User | None:
        """Get a user"""
        ...

    def organisation(self, org: str) -> Organisation | None:
        """Get an organisation"""
        ...

    def profile(
        self, login: Annotated[str, st.equal(Repository="owner")]
    ) -> st.Query[User | Repository]:
        """Get a user with the user's repositories"""
        ...

    def members(self, org: str) -> st.Query[Membership]:
        """Get the members of an organisation"""
        ...

    @st.through(Membership)
    def organisations_of(self, member: str) -> st.Query[Organisation]:
        """Get the organisations of a user"""
        ...

    def repository(self, owner: str, name: str) -> Repository | None:
        """Get a repository, with its counters"""
        ...

    def repositories(self, owner: str) -> st.Query[Repository]:
        """Get the repositories of a user or an organisation"""
        ...

    def issue(self, owner: str, name: str, number: int) -> Issue | None:
        """Get an issue"""
        ...

    def issues(self, owner: str, name: str) -> st.Query[Issue]:
        """Get the issues of a repository"""
        ...

    @st.using(Issue.still_open)
    def open_issues(self, owner: str, name: str) -> st.Query[Issue]:
        """Get the open issues of a repository"""
        ...

    def pull_request(self, owner: str, name: str, number: int) -> PullRequest | None:
        """Get a pull request"""
        ...

    def pull_requests(self, owner: str, name: str) -> st.Query[PullRequest]:
        """Get the pull requests of a repository"""
        ...

    @st.using(PullRequest.still_open)
    def open_pull_requests(self, owner: str, name: str) -> st.Query[PullRequest]:
        """Get the open pull requests of a repository"""
        ...

    @st.latest
    def work_of(self, author: str) -> st.Query[Issue | PullRequest]:
        """Get what a user has opened, the newest first"""
        ...

    def comments(self, owner: str, name: str, number: int) -> st.Query[Comment]:
        """Get the comments on an issue or a pull request in the order of time"""
        ...

    def star(self, owner: str, name: str, login: str) -> Star | None:
        """Find out whether a user has starred a repository"""
        ...

    def stargazers(self, owner: str, name: str) -> st.Query[Star]:
        """Get the stars of a repository"""
        ...

    @st.through(Star)
    def starred(self, login: str) -> st.Query[Repository]:
        """Get the repositories that a user has starred, in the order of time"""
        ...

    def forks(self, owner: str, name: str) -> st.Query[Fork]:
        """Get the forks of a repository"""
        ...


table = st.Table("hub", Hub)


def give_star(db: Hub, owner: str, name: str, login: str) -> None:
    """Star a repository and count the star. Raises AlreadyExists if the user has starred it."""
    with db.transaction() as t:
        t.create(Star(owner=owner, name=name, login=login))
        t.add(Repository(owner=owner, name=name), stars=1)


def take_star(db: Hub, owner: str, name: str, login: str) -> None:
    """Remove a star. Raises ConditionFailed if there is no such star."""
    with db.transaction() as t:
        t.delete(Star(owner=owner, name=name, login=login), where="attribute_exists(login)")
        t.add(Repository(owner=owner, name=name), stars=-1)


def fork(db: Hub, owner: str, name: str, by: str) -> Repository:
    """Copy a repository to another owner. Raises AlreadyExists if that owner has a copy."""
    copy = Repository(owner=by, name=name, forked_from=f"{owner}/{name}")
    with db.transaction() as t:
        t.create(copy)
        t.create(Fork(owner=owner, name=name, by=by))
        t.add(Repository(owner=owner, name=name), forks=1)
    return copy


def open_issue(db: Hub, owner: str, name: str, author: str, title: str) -> Issue:
    """Open an issue with the next number. Raises NotFound if there is no such repository."""
    repository = Repository(owner=owner, name=name)
    number = db.add(repository, last_number=1).last_number
    issue = Issue(owner=owner, name=name, number=number, title=title, author=author)
    with db.transaction() as t:
        t.create(issue)
        t.add(repository, open_issues=1)
    return issue


def close_issue(db: Hub, issue: Issue) -> None:
    """Close an issue. Raises Conflict if it was changed after it was read."""
    with db.transaction() as t:
        t.save(issue.replace(status="closed"))
        t.add(Repository(owner=issue.owner, name=issue.name), open_issues=-1)


def open_pull_request(db: Hub, owner: str, name: str, author: str, title: str) -> PullRequest:
    """Open a pull request with the next number, in the sequence that it shares with issues."""
    number = db.add(Repository(owner=owner, name=name), last_number=1).last_number
    return db.create(PullRequest(owner=owner, name=name, number=number, title=title, author=author))


def merge(db: Hub, owner: str, name: str, number: int) -> None:
    """Merge an open pull request, and add a comment that says so.

    Raises ConditionFailed if the pull request is not open, and Conflict if another program changed
    it meanwhile.
    """
    with db.transaction() as t:
        with t.edit(db.pull_request, owner, name, number) as pull:
            pull.status = "merged"
        t.check(pull, "status = :open", open="open")
        t.create(
            Comment(
                owner=owner, name=name, number=number, author=pull.author, text="merged",
                written=datetime.now(UTC),
            )
        )  # fmt: skip
