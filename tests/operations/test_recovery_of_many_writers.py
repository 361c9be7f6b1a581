"""Recovery to a point in time over every store, while several servers write the table."""

import gzip
import json
import time
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

import moments
import pytest
from backed_up import NAMED, contents
from every_store import address as address
from small import no_lateness as no_lateness

import hashrange
from hashrange import Settings

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_lateness")]

SERVERS = 2
SECONDS = 0.4
RESTORES = 6
PERIODS = 4


@pytest.mark.parametrize("address", ["file", "postgresql", "citus"], indirect=True)
def test_every_moment_comes_back(address: str | None) -> None:
    random = Random(31)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(closing(hashrange.connect(address)))
            for _ in range(SERVERS if address else 1)
        ]
        moments.create(servers[0].execute)
        time.sleep(moments.TICK_SECONDS)
        since = time.time()
        asks = [servers[number % len(servers)].execute for number in range(moments.WRITERS)]
        writers = moments.counting(asks)
        try:
            time.sleep(SECONDS / 2)
            wanted = moments.restore_some(servers[0].execute, random, since, RESTORES // 2)
            servers[-1].run_upkeep()
            time.sleep(SECONDS / 2)
        finally:
            moments.ended(writers)
        wanted |= moments.restore_some(servers[0].execute, random, since, RESTORES // 2)
        servers[0].run_upkeep()
        moments.check(servers[0], writers, wanted)
        assert list(servers[0].check()) == []
        print(sum(len(writer.done) for writer in writers), "transactions")


@pytest.mark.parametrize("address", ["memory", "postgresql"], indirect=True)
def test_periods_of_exports_meet(address: str | None, tmp_path: Path) -> None:
    """What is written while an export begins is in it or in the next one."""
    (tmp_path / "objects" / "bucket").mkdir(parents=True)
    settings = Settings(objects=str(tmp_path / "objects"))
    with closing(hashrange.connect(address, settings=settings)) as server:
        moments.create(server.execute)
        time.sleep(moments.TICK_SECONDS)  # recovery has begun by then
        since = time.time()
        time.sleep(moments.TICK_SECONDS)
        known: dict[str, Any] = {}
        writers = moments.counting([server.execute] * moments.WRITERS)
        try:
            for _ in range(PERIODS):
                since, changes = exported(server, tmp_path / "objects" / "bucket", since)
                for change in changes:
                    assert change.get("OldImage") == known.get(change["Keys"]["pk"]["S"])
                    known[change["Keys"]["pk"]["S"]] = change["NewImage"]
        finally:
            moments.ended(writers)
        _, changes = exported(server, tmp_path / "objects" / "bucket", since)
        known |= {change["Keys"]["pk"]["S"]: change["NewImage"] for change in changes}
        assert known == {item["pk"]["S"]: item for item in contents(server, "source")}


def exported(
    server: hashrange.Database, bucket: Path, since: float
) -> tuple[float, list[dict[str, Any]]]:
    """The end of an incremental export, and its changes."""
    arn = server.execute("DescribeTable", NAMED)["Table"]["TableArn"]
    period = {"ExportFromTime": since}
    request = {"TableArn": arn, "S3Bucket": "bucket", "ExportType": "INCREMENTAL_EXPORT"}
    request |= {"IncrementalExportSpecification": period}
    begun = server.execute("ExportTableToPointInTime", request)["ExportDescription"]
    server.run_upkeep()
    named = {"ExportArn": begun["ExportArn"]}
    ended = server.execute("DescribeExport", named)["ExportDescription"]
    assert ended["ExportStatus"] == "COMPLETED", ended
    until = ended["IncrementalExportSpecification"]["ExportToTime"]
    manifest = bucket / ended["ExportManifest"]
    files = (manifest.parent / "manifest-files.json").read_text().splitlines()
    lines: list[str] = []
    for file in files:
        lines += (
            gzip.decompress((bucket / json.loads(file)["dataFileS3Key"]).read_bytes())
            .decode()
            .splitlines()
        )
    return until, [json.loads(line) for line in lines]
