"""Recovery to a point in time: every moment comes back exactly as it was."""

from random import Random
from typing import Any

import pytest
from backed_up import (
    DAY,
    NAMED,
    RECOVERY,
    START,
    Server,
    contents,
    moments_come_back,
    restore,
    server,
    write_something,
)
from small import small_steps

from hashrange import kv
from hashrange.model.errors import ApiError

__all__ = ["server", "small_steps"]  # fixtures


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("small_steps")
@pytest.mark.deep
def test_every_moment_comes_back(server: Server, seed: int) -> None:
    assert moments_come_back(server, Random(seed)), f"seed {seed}"


def continuous(server: Server) -> dict[str, Any]:
    described = server.execute("DescribeContinuousBackups", NAMED)["ContinuousBackupsDescription"]
    assert described["ContinuousBackupsStatus"] == "ENABLED"
    recovery: dict[str, Any] = described["PointInTimeRecoveryDescription"]
    return recovery


def test_the_window_of_recovery(server: Server) -> None:
    assert continuous(server) == {"PointInTimeRecoveryStatus": "DISABLED"}
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    enabled = {
        "PointInTimeRecoveryStatus": "ENABLED",
        "EarliestRestorableDateTime": START,
        "LatestRestorableDateTime": START,
        "RecoveryPeriodInDays": 35,
    }
    assert continuous(server) == enabled
    server.clock.advance(1000)
    assert continuous(server) == {**enabled, "LatestRestorableDateTime": START + 700}
    ask = {"SourceTableName": "source", "TargetTableName": "copy"}
    for time, text in ((START - 1, "04:25:57.000Z"), (START + 700.5, "04:37:38.500Z")):
        server.refused(
            f"InvalidRestoreTimeException: RestoreDateTime '2026-11-24T{text}' must be within "
            "EarliestRestorableDateTime '2026-11-24T04:25:58.000Z' and LatestRestorableDateTime "
            "'2026-11-24T04:37:38.000Z'",
            "RestoreTableToPointInTime",
            {**ask, "RestoreDateTime": time},
        )
    shorter = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 2}
    server.execute(
        "UpdateContinuousBackups", {**NAMED, "PointInTimeRecoverySpecification": shorter}
    )
    server.clock.advance(3 * DAY)
    now = server.clock.now()
    assert continuous(server)["EarliestRestorableDateTime"] == now - 2 * DAY
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    assert continuous(server)["RecoveryPeriodInDays"] == 2


def test_old_changes_are_deleted(server: Server) -> None:
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    before = server.spaces()
    random = Random(1)
    for _ in range(600):
        write_something(server, random)
    server.clock.advance(36 * DAY)
    write_something(server, random)
    server.finish()
    space = max(before)
    page = server.store.snapshot().read(kv.Range(space, b"", None))
    assert isinstance(page, kv.Page)
    assert len(page.rows) <= 2
    off = {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}}
    server.execute("UpdateContinuousBackups", {**NAMED, **off})
    server.finish()
    assert server.spaces() == before - {space}


def test_a_deleted_table_is_kept(server: Server) -> None:
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    write_something(server, Random(3))
    cut = contents(server, "source")
    server.execute("DeleteTable", NAMED)
    [kept] = server.execute("ListBackups", {"BackupType": "SYSTEM"})["BackupSummaries"]
    assert kept["BackupName"] == "source$DeletedTableBackup"
    assert kept["BackupArn"].endswith("-00000000")
    assert kept["BackupExpiryDateTime"] == START + 35 * DAY
    arn = kept["BackupArn"]
    with pytest.raises(ApiError, match="system backup"):
        server.execute("DeleteBackup", {"BackupArn": arn})
    restore(server, arn, "source")
    server.finish()
    assert contents(server, "source") == cut
    server.clock.advance(35 * DAY)
    server.finish()
    server.refused(
        f"BackupNotFoundException: Backup not found: {arn}", "DescribeBackup", {"BackupArn": arn}
    )
    assert len(server.spaces()) == 5, "the system's, the table, two indexes and the collections"


@pytest.mark.usefixtures("small_steps")
def test_changes_that_a_restore_needs_are_not_deleted(server: Server) -> None:
    """They become older than the period while the table is copied."""
    random = Random(5)
    day = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 1}
    server.execute("UpdateContinuousBackups", {**NAMED, "PointInTimeRecoverySpecification": day})
    for _ in range(60):
        write_something(server, random)
    cut, time = contents(server, "source"), server.clock.now()
    server.clock.advance(1)
    for _ in range(60):
        write_something(server, random)
    server.clock.advance(DAY - 1)
    request = {"SourceTableName": "source", "TargetTableName": "copy", "RestoreDateTime": time}
    server.execute("RestoreTableToPointInTime", request)
    server.upkeep.run_once()
    server.clock.advance(DAY)
    server.finish()
    assert contents(server, "copy") == cut
