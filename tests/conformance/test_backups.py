"""Backups over every endpoint, with the service's own client."""

from .support import NewTable, call, gsi, refused


def test_a_backup_is_restored(new_table: NewTable) -> None:
    table = new_table("pk", gsi("byOwner", "owner"))
    client, copy = table.client, f"{table.name}-copy"
    items = [{"pk": {"S": f"p{number}"}, "owner": {"S": "o"}} for number in range(20)]
    for item in items:
        table.call("PutItem", Item=item)
    created = table.call("CreateBackup", BackupName="daily")["BackupDetails"]
    assert created["BackupStatus"] == "CREATING"
    arn = created["BackupArn"]
    table.call("DeleteItem", Key={"pk": {"S": "p3"}})
    described = call(client, "DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert described["SourceTableDetails"]["TableName"] == table.name
    call(client, "RestoreTableFromBackup", BackupArn=arn, TargetTableName=copy)
    client.get_waiter("table_exists").wait(TableName=copy, WaiterConfig={"Delay": 1})
    by_owner = call(client, "Scan", TableName=copy, IndexName="byOwner")["Items"]
    assert sorted(item["pk"]["S"] for item in by_owner) == sorted(i["pk"]["S"] for i in items)
    listed = call(client, "ListBackups", TableName=table.name)["BackupSummaries"]
    assert [each["BackupArn"] for each in listed] == [arn]
    deleted = call(client, "DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert deleted["BackupDetails"]["BackupStatus"] == "DELETED"
    refusal = f"BackupNotFoundException: Backup not found: {arn}"
    refused(refusal, call, client, "DescribeBackup", BackupArn=arn)
    call(client, "DeleteTable", TableName=copy)
