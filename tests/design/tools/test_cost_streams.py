"""The cost of copies that a reader of the stream updates."""

from typing import Protocol

import hashrange
from hashrange import design as st

from .metered import Metered


class Team(st.Item):
    key = st.key("team#{team_id}", "info")

    team_id: st.Slug
    name: str


class Player(st.Item):
    key = st.key("team#{team_id}", "player#{number:03d}")

    team_id: st.Slug
    number: int
    team: str = st.copy(Team, "name", sync="stream")


class Teams(st.Store, Protocol):
    def team(self, team_id: str) -> Team | None: ...


def test_copies_that_a_reader_of_the_stream_updates() -> None:
    """The edit itself, and then what a reader does for it."""
    players = 130
    teams = st.Table(
        "teams", Teams, Player,
        volumes=st.volumes(Player=st.each(Team, mean=players, max=players)),
        writes=[st.writes(Team, edit=("name",), rate=1)],
    )  # fmt: skip
    database = hashrange.connect()
    teams.create(database)
    metered = Metered(database)
    db = teams.open(Teams, metered)
    first = db.create(Team(team_id="t", name="team A"))
    items = [db.create(Player(team_id="t", number=n)) for n in range(players)]
    metered.reads, metered.writes, metered.requests = {}, {}, 0
    with db.edit(db.team, "t") as team:
        team.name = "team B"
    db.sync(team)
    line = st.cost(teams, examples=[first, items[0]]).line("edit Team: name")
    assert line.copies == players
    assert dict(line.writes) == metered.writes
    assert dict(line.reads) == metered.reads
    assert line.requests == metered.requests
