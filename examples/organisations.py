"""Organisations and their projects: natural keys, a local index and a global one."""

from datetime import date
from typing import Annotated, Protocol

from hashrange import design as st


class Organisation(st.Item):
    key = st.key(st.attr("id"))

    id: str
    name: str


class Project(st.Item):
    key = st.key(st.attr("organisation_id"), st.attr("name"))
    by_last_updated = st.local("by_last_updated", st.attr("last_updated"), project="KEYS_ONLY")
    by_owner = st.index("by_owner", st.attr("owner"), project="KEYS_ONLY")

    organisation_id: str
    name: str
    owner: str
    last_updated: date


class UpdatedProject(st.View[Project]):
    """The fields that the local index holds."""

    organisation_id: str
    name: str
    last_updated: date


class OwnedProject(st.View[Project]):
    """The fields that the global index holds: its own key and the table's."""

    organisation_id: str
    name: str
    owner: str


class Organisations(st.Store, Protocol):
    def organisation(self, id: str) -> Organisation | None:
        """Get a single organisation"""
        ...


class Projects(st.Store, Protocol):
    def project(self, organisation_id: str, name: str) -> Project | None:
        """Get a single project"""
        ...

    def projects(self, organisation_id: str) -> st.Query[Project]:
        """Get all projects that belong to a specific organisation"""
        ...

    def updated_since(
        self, organisation_id: str, since: Annotated[date, st.at_least("last_updated")]
    ) -> st.Query[UpdatedProject]:
        """Get all of an organisation's projects that have been updated in the last seven days"""
        ...

    def owned_by(self, owner: str) -> st.Query[OwnedProject]:
        """Get all projects owned by a specific user"""
        ...


organisations = st.Table("organisations", Organisations, type_attribute=None)
projects = st.Table("projects", Projects, type_attribute=None)
