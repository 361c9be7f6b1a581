"""`hashrange.serve()`, with boto3 and with the environment of another program."""

import socket
import subprocess
import sys
import threading
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

import hashrange
from hashrange.server.listener import ServerError


def client(server: Any, service: str = "dynamodb") -> Any:
    return boto3.client(
        service,
        "us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
    )


def create_table(client: Any, **more: Any) -> None:
    client.create_table(
        TableName="Things",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def test_a_database_on_a_free_port() -> None:
    threads = threading.active_count()
    with hashrange.serve() as server, hashrange.serve() as other:
        assert server.port != other.port
        create_table(client(server))
        assert server.database.execute("ListTables", {})["TableNames"] == ["Things"]
        assert client(other).list_tables()["TableNames"] == []
    assert threading.active_count() == threads
    with pytest.raises(EndpointConnectionError):
        boto3.client(
            "dynamodb",
            "us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="AKID",
            aws_secret_access_key="secret",
            config=boto3.session.Config(retries={"total_max_attempts": 1}),
        ).list_tables()


def test_a_database_that_is_given_stays_open() -> None:
    with hashrange.connect() as database:
        with hashrange.serve(database) as server:
            create_table(client(server))
            assert server.database is database
            with pytest.raises(ValueError, match=r"^`reset\(\)` needs a database that serve"):
                server.reset()
            with pytest.raises(ValueError, match=r"^`clock` needs a database that serve"):
                server.clock.freeze()
        assert database.execute("ListTables", {})["TableNames"] == ["Things"]


def test_reset_empties_it_and_sets_its_clock_right() -> None:
    with hashrange.serve() as server:
        items = client(server)
        create_table(items)
        server.clock.advance(1e9)
        server.reset()
        server.clock.freeze("2020-02-29")
        assert items.list_tables()["TableNames"] == []
        create_table(items)
        created = items.describe_table(TableName="Things")["Table"]["CreationDateTime"]
        assert f"{created:%Y-%m-%d}" == "2020-02-29"


def test_expired_items_are_deleted_when_the_clock_has_moved() -> None:
    with hashrange.serve() as server:
        items, streams = client(server), client(server, "dynamodbstreams")
        create_table(
            items, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        )
        items.update_time_to_live(
            TableName="Things", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ends"}
        )
        ends = {"N": str(int(server.clock.now()) + 60)}
        items.put_item(TableName="Things", Item={"pk": {"S": "a"}, "ends": ends})
        server.clock.advance(120)
        assert items.scan(TableName="Things")["Count"] == 0
        assert events(streams) == ["INSERT", "REMOVE"]


def events(streams: Any) -> list[str]:
    """The names of all events of the only stream."""
    (stream,) = streams.list_streams()["Streams"]
    arn = stream["StreamArn"]
    shards = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterators = [
        streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        for shard in shards
    ]
    pages = [streams.get_records(ShardIterator=iterator)["Records"] for iterator in iterators]
    return [record["eventName"] for page in pages for record in page]


PROGRAM = """
import boto3
assert boto3.client("dynamodb").list_tables()["TableNames"] == ["Things"]
assert boto3.client("dynamodbstreams").list_streams()["Streams"] == []
"""


def test_the_environment_of_another_program() -> None:
    with hashrange.serve() as server:
        create_table(client(server))
        subprocess.run([sys.executable, "-c", PROGRAM], env=server.environment, check=True)


def test_the_name_of_a_file_is_not_a_database() -> None:
    with pytest.raises(TypeError, match=r"serve\(\) takes a database .*, not 'app\.db'"):
        hashrange.serve("app.db").__enter__()  # type: ignore[arg-type]


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ServerError, match=rf"^port {port} of 127.0.0.1 is in use; choose another port$"
        ):
            hashrange.serve(port=port).__enter__()


def test_an_error_inside_ends_the_server() -> None:
    with pytest.raises(ZeroDivisionError), hashrange.serve() as server:
        raise ZeroDivisionError
    assert not [thread for thread in threading.enumerate() if thread.name == "hashrange-server"]
    with pytest.raises(hashrange.StoreError, match="closed"):
        server.database.execute("ListTables", {})
