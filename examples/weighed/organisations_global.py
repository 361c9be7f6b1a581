"""A global index: the projects of an organisation by their last change."""

from datetime import date
from typing import Protocol

from hashrange import design as st


class Project(st.Item):
    key = st.key(st.attr("organisation_id"), st.attr("name"))
    by_update = st.index(
        "by_update", st.attr("organisation_id"), st.attr("updated"), project="KEYS_ONLY"
    )

    organisation_id: str
    name: str
    updated: date
    text: str = ""


class ProjectRef(st.View[Project]):
    organisation_id: str
    name: str
    updated: date


class Projects(st.Store, Protocol):
    @st.rate(50)
    def project(self, organisation_id: str, name: str) -> Project | None: ...

    @st.rate(20, items=20)
    def updated_since(
        self, organisation_id: str, updated: st.AtLeast[date]
    ) -> st.Query[ProjectRef]: ...


table = st.Table(
    "projects",
    Projects,
    volumes=st.volumes(Project=st.total(500_000, size=2_000)),
    writes=[st.writes(Project, create=1, edit=("text", "updated"), rate=5)],
)
