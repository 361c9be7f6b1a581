"""Backups by the API: exactly the table of one commit, over every store, whatever is written
meanwhile and whenever the process ends."""

import subprocess
import sys
from pathlib import Path
from random import Random
from subprocess import PIPE
from typing import Any

import pytest
from backed_up import (
    ALL,
    BY_GROUP,
    KEYS_ONLY,
    NAMED,
    RECOVERY,
    START,
    TABLE,
    Server,
    backups_while_others_write,
    contents,
    create_backup,
    restore,
    server,
    write_something,
)
from every_store import address
from small import no_lateness, small_steps

import hashrange
from hashrange.model.errors import ApiError

__all__ = ["address", "no_lateness", "server", "small_steps"]  # fixtures
ROOM = str(Path(__file__).parents[1] / "support")


# ---- a backup is one moment ----


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("small_steps")
@pytest.mark.deep
def test_backups_while_others_write(server: Server, seed: int) -> None:
    assert backups_while_others_write(server, Random(seed)), f"seed {seed}"


def test_backups_over_every_store(address: str | None) -> None:
    random = Random(7)
    with hashrange.connect(address) as db:
        db.execute("CreateTable", TABLE)
        cuts: dict[str, list[dict[str, Any]]] = {}
        for number in range(150):
            if number % 50 == 30:
                cuts[create_backup(db)] = contents(db, "source")
            write_something(db, random)
        for number, arn in enumerate(cuts):
            restore(db, arn, f"copy{number}")
        db.run_upkeep()
        for number, cut in enumerate(cuts.values()):
            described = db.execute("DescribeTable", {"TableName": f"copy{number}"})["Table"]
            assert described["TableStatus"] == "ACTIVE"
            assert contents(db, f"copy{number}") == cut
        assert list(db.check()) == []


WRITER = """
import sys
import time
from random import Random
import hashrange
from hashrange.engine import fetch, history
sys.path.insert(0, sys.argv[3])
from backed_up import NAMED, contents, create_backup, restore, write_something

history.STEP_ROWS = fetch.CHUNK_ROWS = 5
random = Random(int(sys.argv[2]))
with hashrange.connect(sys.argv[1]) as db:
    for number in range(1_000_000):
        for _ in range(20):
            write_something(db, random)
        arn, cut = create_backup(db), contents(db, "source")
        time.sleep(0.002)
        print(arn, time.time(), repr(cut), sep="\\t", flush=True)
        time.sleep(0.002)  # the moment lasts for a millisecond at least
        restore(db, arn, f"copy-{arn[-8:]}")
"""


@pytest.mark.deep
@pytest.mark.usefixtures("no_lateness")
def test_a_process_that_is_killed(tmp_path: Path) -> None:
    """Its backups and moments come back, also those whose copies or restores were under way."""
    seed = Random().randrange(1 << 32)
    path, random = str(tmp_path / "a.db"), Random(seed)
    with hashrange.connect(path) as db:
        db.execute("CreateTable", TABLE)
        db.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    cuts: dict[str, str] = {}
    times: dict[str, float] = {}
    for run in range(2):
        arguments = [sys.executable, "-c", WRITER, path, str(seed + run), ROOM]
        with subprocess.Popen(arguments, stdout=PIPE, text=True) as writer:
            assert writer.stdout
            for _ in range(random.randrange(3, 8)):
                arn, time, cut = writer.stdout.readline().rstrip("\n").split("\t")
                cuts[f"copy-{arn[-8:]}"] = cuts[f"then-{arn[-8:]}"] = cut
                times[arn] = float(time)
            writer.kill()
    with hashrange.connect(path) as db:
        db.run_upkeep()
        present = db.execute("ListTables", {})["TableNames"]
        for arn, moment in times.items():
            if f"copy-{arn[-8:]}" not in present:
                restore(db, arn, f"copy-{arn[-8:]}")
            names = {"SourceTableName": "source", "TargetTableName": f"then-{arn[-8:]}"}
            db.execute("RestoreTableToPointInTime", {**names, "RestoreDateTime": moment})
        db.run_upkeep()
        for name, cut in cuts.items():
            assert repr(contents(db, name)) == cut, f"seed {seed}, {name}"
        assert list(db.check()) == []


# ---- life cycles and refusals ----


def test_what_a_restore_keeps(server: Server) -> None:
    server.execute(
        "UpdateTimeToLive",
        {
            **NAMED,
            "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
        },
    )
    server.execute("UpdateTable", {**NAMED, "DeletionProtectionEnabled": True})
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    server.execute("UpdateTable", {**NAMED, "StreamSpecification": stream})
    server.execute("UpdateContinuousBackups", {**NAMED, **RECOVERY})
    arn = create_backup(server)
    features = server.execute("DescribeBackup", {"BackupArn": arn})["BackupDescription"]
    assert features["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    features = features["SourceTableFeatureDetails"]
    assert features["StreamDescription"] == stream
    assert features["TimeToLiveDescription"]["AttributeName"] == "ttl"
    assert [each["IndexName"] for each in features["LocalSecondaryIndexes"]] == ["byPlace"]
    summary = restore(server, arn, "copy")["RestoreSummary"]
    assert summary["SourceBackupArn"] == arn
    assert summary["RestoreInProgress"] is True
    in_use = f"BackupInUseException: Backup is being restored: {arn}"
    again = {"BackupArn": arn, "TargetTableName": "copy2"}
    server.refused(in_use, "RestoreTableFromBackup", again)
    server.refused(in_use, "DeleteBackup", {"BackupArn": arn})
    other = create_backup(server)
    server.refused(
        "TableInUseException: Table is being restored: copy",
        "RestoreTableFromBackup",
        {"BackupArn": other, "TargetTableName": "copy"},
    )
    server.finish()
    copy = server.execute("DescribeTable", {"TableName": "copy"})["Table"]
    assert copy["TableStatus"] == "ACTIVE"
    assert not copy.keys() & {"RestoreSummary", "StreamSpecification", "LatestStreamArn"}
    assert copy["DeletionProtectionEnabled"] is False
    assert [each["IndexName"] for each in copy["GlobalSecondaryIndexes"]] == ["byGroup"]
    ttl = server.execute("DescribeTimeToLive", {"TableName": "copy"})["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "DISABLED"}
    server.refused(
        "TableAlreadyExistsException: Table already exists: copy",
        "RestoreTableFromBackup",
        {"BackupArn": other, "TargetTableName": "copy"},
    )


def test_overrides(server: Server) -> None:
    arn = create_backup(server)
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4}
    renamed = {
        "IndexName": "renamed",
        "KeySchema": BY_GROUP,
        "Projection": ALL,
        "ProvisionedThroughput": units,
    }
    described = restore(
        server,
        arn,
        "copy",
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units,
        GlobalSecondaryIndexOverride=[renamed],
        LocalSecondaryIndexOverride=[],
        SSESpecificationOverride={"Enabled": True, "SSEType": "KMS"},
    )
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert [each["IndexName"] for each in described["GlobalSecondaryIndexes"]] == ["renamed"]
    assert "LocalSecondaryIndexes" not in described
    assert described["SSEDescription"]["SSEType"] == "KMS"
    other = {**renamed, "Projection": KEYS_ONLY}
    server.finish()
    with pytest.raises(ApiError, match="Index 0 does not match a secondary index that existed"):
        restore(server, arn, "copy2", GlobalSecondaryIndexOverride=[other])
    fewer = restore(
        server, arn, "copy2", GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[]
    )
    assert [each["AttributeName"] for each in fewer["AttributeDefinitions"]] == ["pk", "sk"]


def test_lists_of_backups(server: Server) -> None:
    arns = []
    for number in range(5):
        server.clock.advance(1)
        arns.append(create_backup(server, f"number{number}"))

    def listed(**request: Any) -> list[str]:
        page = server.execute("ListBackups", request)
        found = [each["BackupArn"] for each in page["BackupSummaries"]]
        if "LastEvaluatedBackupArn" in page:
            start = page["LastEvaluatedBackupArn"]
            assert start == found[-1]
            found += listed(**{**request, "ExclusiveStartBackupArn": start})
        return found

    assert listed() == listed(Limit=2) == listed(Limit=5) == listed(TableName="source") == arns
    assert listed(TableName="absent") == listed(BackupType="SYSTEM") == []
    assert listed(TimeRangeLowerBound=START + 2, TimeRangeUpperBound=START + 4) == arns[1:3]
    assert "LastEvaluatedBackupArn" not in server.execute("ListBackups", {"Limit": 5})
    server.execute("DeleteBackup", {"BackupArn": arns[2]})
    assert listed() == [*arns[:2], *arns[3:]]
    elsewhere = arns[0].replace("000000000000", "111111111111")
    server.refused(
        "AccessDeniedException: Access is denied", "DescribeBackup", {"BackupArn": elsewhere}
    )


def test_nothing_is_left_of_deleted_backups(server: Server) -> None:
    before = server.spaces()
    write_something(server, Random(2))
    for step in range(3):
        arn = create_backup(server)
        for _ in range(step):
            server.upkeep.run_once()
        server.execute("DeleteBackup", {"BackupArn": arn})
    server.finish()
    assert server.spaces() == before
