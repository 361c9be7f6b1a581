"""A task tracker for many tenants, which also keeps spare parts and readings of devices."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Literal, Protocol

from pydantic import Field, StringConstraints

from hashrange import design as st

Id = Annotated[st.Slug, Field(max_length=40)]
Email = Annotated[str, StringConstraints(to_lower=True, max_length=254)]


class Tenant(st.Item):
    key = st.key("tenant#{tenant_id}", "info")

    tenant_id: Id
    title: str


class User(st.Item):
    key = st.key("tenant#{tenant_id}", "user#{user_id}")
    one_email = st.unique("email#{email}")  # unique over all tenants

    tenant_id: Id
    user_id: Id
    email: Email
    name: str


class Session(st.Item):
    """A login that expires. From that moment on, reads leave it out."""

    key = st.key("tenant#{tenant_id}#sessions", "{token}")

    tenant_id: Id
    token: Id
    user_id: Annotated[Id, st.ref(User)]
    expires: st.TTL


class Project(st.Item):
    key = st.key("tenant#{tenant_id}", "project#{project_id}")

    tenant_id: Id
    project_id: Id
    title: str


class Task(st.Item):
    key = st.key("tenant#{tenant_id}#project#{project_id}", "task#{task_id}")
    # Sparse indexes: GSI2 has only tasks with the flag, and GSI3 only open tasks with a date.
    flagged_ones = st.index(
        "GSI2", "tenant#{tenant_id}#flagged", "{task_id}", when="flagged = :yes", yes=True
    )
    due_ones = st.index(
        "GSI3", "tenant#{tenant_id}#due", "{due}#{task_id}", when="status = :open", open="open"
    )

    tenant_id: Id
    project_id: Id
    task_id: Id = st.ulid()
    title: str
    status: Literal["open", "done"] = "open"
    flagged: bool = False
    due: datetime | None = None
    changed: datetime = st.now(update=True)


class Assignment(st.Item):
    """A user of a task: a many-to-many relation, which can be read from both sides."""

    key = st.key("tenant#{tenant_id}#task#{project_id}#{task_id}", "user#{user_id}")
    of_user = st.index("GSI1", "tenant#{tenant_id}#user#{user_id}", "task#{task_id}")

    tenant_id: Id
    project_id: Id
    task_id: Annotated[Id, st.ref(Task)]
    user_id: Id
    user_name: str = st.copy(User, "name", sync="batch")


class Event(st.Item):
    """An entry of the tenant's feed, which has four partitions because everybody writes to it."""

    key = st.key("tenant#{tenant_id}#feed#{event_id|shard:4}", "{at}#{event_id}")

    tenant_id: Id
    event_id: Id = st.ulid()
    at: datetime = st.now(create=True)
    text: str


class Part(st.Item):
    key = st.key("tenant#{tenant_id}", "part#{part_id}")

    tenant_id: Id
    part_id: Id
    stock: Annotated[int, Field(ge=0)] = 0


class Reservation(st.Item):
    key = st.key("tenant#{tenant_id}#task#{project_id}#{task_id}", "part#{part_id}")

    tenant_id: Id
    project_id: Id
    task_id: Annotated[Id, st.ref(Task)]
    part_id: Annotated[Id, st.ref(Part)]
    count: Annotated[int, Field(gt=0)]


class Reading(st.Item):
    """A value of a time series, which has one partition for each device and month."""

    key = st.key("tenant#{tenant_id}#device#{device_id}#{at:%Y-%m}", "{at}")

    tenant_id: Id
    device_id: Id
    at: datetime
    value: Decimal


class Tracker(st.Store, Protocol):
    def tenant(self, tenant_id: str) -> Tenant | None:
        """Get a tenant"""
        ...

    def user(self, tenant_id: str, user_id: str) -> User | None:
        """Get a user"""
        ...

    def users(self, tenant_id: str) -> st.Query[User]:
        """Get the users of a tenant"""
        ...

    def session(self, tenant_id: str, token: str) -> Session | None:
        """Get a session that has not expired"""
        ...

    def projects(self, tenant_id: str) -> st.Query[Project]:
        """Get the projects of a tenant"""
        ...

    def task(self, tenant_id: str, project_id: str, task_id: str) -> Task | None:
        """Get a task of a project"""
        ...

    def tasks(self, tenant_id: str, project_id: str) -> st.Query[Task]:
        """Get the tasks of a project"""
        ...

    @st.using(Task.flagged_ones)
    def flagged(self, tenant_id: str) -> st.Query[Task]:
        """Get the flagged tasks of a tenant"""
        ...

    @st.using(Task.due_ones)
    def due_before(self, tenant_id: str, due: st.AtMost[datetime]) -> st.Query[Task]:
        """Get the open tasks that are due until a moment, the earliest first"""
        ...

    def assignees(self, tenant_id: str, project_id: str, task_id: str) -> st.Query[Assignment]:
        """Get the users of a task"""
        ...

    @st.through(Assignment)
    def tasks_of(self, tenant_id: str, user_id: str) -> st.Query[Task]:
        """Get the tasks of a user"""
        ...

    @st.latest
    def feed(self, tenant_id: str) -> st.Query[Event]:
        """Get the feed of a tenant, the newest entry first"""
        ...

    def part(self, tenant_id: str, part_id: str) -> Part | None:
        """Get a part, with its stock"""
        ...

    def parts_of(self, tenant_id: str, project_id: str, task_id: str) -> st.Query[Reservation]:
        """Get the parts that are reserved for a task"""
        ...

    def readings(
        self,
        tenant_id: str,
        device_id: str,
        month: Annotated[date, st.month("at")],
    ) -> st.Query[Reading]:
        """Get the readings of a device in a month"""
        ...

    @st.latest
    def last_reading(
        self, tenant_id: str, device_id: str, month: Annotated[date, st.month("at")]
    ) -> Reading | None:
        """Get the last reading of a device in a month"""
        ...


table = st.Table("tasks", Tracker, hide_expired=True)


def log_in(db: Tracker, user: User, token: str, lasts: timedelta) -> Session:
    expires = datetime.now(UTC) + lasts
    return db.create(
        Session(tenant_id=user.tenant_id, token=token, user_id=user.user_id, expires=expires)
    )


def reserve(db: Tracker, task: Task, part_id: str, count: int) -> None:
    """Take parts for a task. Raises ConditionFailed if there are not enough."""
    with db.transaction() as t:
        t.add(Part(tenant_id=task.tenant_id, part_id=part_id), stock=-count)
        t.create(
            Reservation(
                tenant_id=task.tenant_id,
                project_id=task.project_id,
                task_id=task.task_id,
                part_id=part_id,
                count=count,
            )
        )


def assign(db: Tracker, task: Task, user_id: str) -> Assignment:
    return db.create(
        Assignment(
            tenant_id=task.tenant_id,
            project_id=task.project_id,
            task_id=task.task_id,
            user_id=user_id,
        )
    )
