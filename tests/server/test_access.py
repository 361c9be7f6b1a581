"""Servers with an access file: signatures, policies, new generations, and mistakes in the files."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import boto3
import pytest
from access_files import (
    REGION,
    THINGS,
    USER,
    access_file,
    allowed,
    create_things,
    document,
    keys_file,
    statement,
)
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from command_line import command_line as run
from programs import Serving, serving
from running_workers import WORKERS, workers
from waiting import wait_until

import hashrange
from hashrange.testing.postgres_server import PostgresServer

LEADING = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "${aws:username}#*"}}
OWN_ITEMS = document(statement("Allow", "*", Condition=LEADING))
KEYS = {"ann": {"pk": {"S": "ann#1"}}, "bob": {"pk": {"S": "bob#1"}}}


def client(server: Serving, user: str, secret: str | None = None, **more: Any) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        region_name=REGION,
        aws_access_key_id=user.upper(),
        aws_secret_access_key=secret or f"secret-of-{user}",
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=1),
        **more,
    )


def code_of(call: Callable[..., Any], **request: Any) -> str:
    with pytest.raises(ClientError) as refused:
        call(**request)
    return str(refused.value.response["Error"]["Code"])


def given(folder: Path, **users: str) -> tuple[Any, ...]:
    return ("--access", access_file(folder, users), "--keys", keys_file(folder, *users))


def test_each_key_may_do_what_its_principal_may(tmp_path: Path) -> None:
    with serving(tmp_path / "app.db", *given(tmp_path, ann=OWN_ITEMS, nobody="")) as server:
        root, ann = client(server, "root"), client(server, "ann")
        root.create_table(
            TableName="things",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        assert root.describe_table(TableName="things")["Table"]["TableArn"] == THINGS
        large = {"x": {"S": "x" * 390_000}}
        for user, mine in (("ann", True), ("bob", False)):
            key = KEYS[user]
            for call, request in (
                (ann.put_item, {"Item": {**key, **large}}),
                (ann.get_item, {"Key": key}),
                (ann.update_item, {"Key": key, "UpdateExpression": "REMOVE y"}),
                (ann.delete_item, {"Key": key}),
            ):
                assert allowed(call, TableName="things", **request) is mine
        # A body of more than 512 KB, and PartiQL, are evaluated in another process.
        many = [{**KEYS["ann"], "pk": {"S": f"ann#{n}"}, **large} for n in range(2)]
        batch = {"things": [{"PutRequest": {"Item": item}} for item in many]}
        assert allowed(ann.batch_write_item, RequestItems=batch)
        batch["things"].append({"PutRequest": {"Item": KEYS["bob"]}})
        assert not allowed(ann.batch_write_item, RequestItems=batch)
        costly = "SELECT * FROM things WHERE pk = 'bob#1'" + " AND x <> 'y'" * 100
        assert not allowed(ann.execute_statement, Statement=costly)
        assert not allowed(client(server, "nobody").list_tables)
        assert code_of(client(server, "ann", "forged").list_tables) == "InvalidSignatureException"
        assert code_of(client(server, "eve").list_tables) == "UnrecognizedClientException"
        unsigned = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{server.port}",
            region_name=REGION,
            config=Config(signature_version=UNSIGNED),
        )
        assert code_of(unsigned.list_tables) == "MissingAuthenticationTokenException"
        _, said = server.end(signal.SIGTERM)
    assert f"denied to {USER}ann: dynamodb:PutItem on {THINGS} because no identity-based" in said
    assert "secret-of" not in said


def test_addresses_and_expiry(tmp_path: Path) -> None:
    def at(address: str) -> str:
        condition = {"IpAddress": {"aws:SourceIp": address}}
        return document(statement("Allow", "*", Condition=condition))

    users = {
        "near": at("127.0.0.0/8"),
        "far": at("10.0.0.0/8"),
        "late": 'access = "full"\nexpires = 2001-01-01T00:00:00Z',
        "early": 'access = "full"\nexpires = 2101-01-01T00:00:00Z',
    }
    with serving(tmp_path / "app.db", *given(tmp_path, **users)) as server:
        assert allowed(client(server, "near").list_tables)
        assert not allowed(client(server, "far").list_tables)
        assert code_of(client(server, "late").list_tables) == "ExpiredTokenException"
        assert allowed(client(server, "early").list_tables)


def test_a_new_generation_holds_at_every_worker(tmp_path: Path) -> None:
    """A faulty one changes nothing, and says so once."""
    own = document(statement("Allow", "dynamodb:ListTables"))
    arguments = given(tmp_path, ann=own)
    with workers(tmp_path / "app.db", *arguments) as server:
        clients = [client(server, "ann") for _ in range(2 * WORKERS)]
        assert all(allowed(one.list_tables) for one in clients)
        policy = tmp_path / "ann.json"
        policy.write_text("{}")
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stderr
        refused = server.process.stderr.readline()
        assert all(allowed(one.list_tables) for one in clients)
        policy.write_text(document(statement("Deny", "*")))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not any(allowed(one.list_tables) for one in clients))
        _, said = server.end(signal.SIGTERM)
    refusal = "SIGHUP: the set of keys and policies is invalid; the previous one stays in use: "
    assert refusal in refused
    assert "ann.json: the policy" in refused or "ann.json: Statement" in refused
    assert said.count("SIGHUP: the set of keys and policies") == 1


def test_the_console_acts_by_the_new_generation(tmp_path: Path) -> None:
    named = given(tmp_path, ann=document(statement("Allow", "dynamodb:*")))
    with serving(*named, "--console", "--console-as", f"{USER}ann") as server:
        assert server.process.stdout
        said = server.process.stderr
        assert said
        address = server.process.stdout.readline().split("): ")[1].strip()
        page = build_opener(HTTPCookieProcessor())
        assert page.open(address).status == 200
        (tmp_path / "ann.json").write_text(document(statement("Deny", "*")))
        server.process.send_signal(signal.SIGHUP)
        assert "was read again" in said.readline()
        with pytest.raises(HTTPError) as refused:
            page.open(address)
        assert b"with an explicit deny" in refused.value.read()
        refused.value.close()
        # A generation without its principal is a mistake.
        (tmp_path / "access.toml").write_text(named[1].read_text().replace("/ann", "/bob"))
        server.process.send_signal(signal.SIGHUP)
        lines = [said.readline() for _ in range(2)]  # one is of the denial
        assert "--console-as: there is no principal" in lines[1]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("x = 1", "the file: unknown member 'x'"),
        ("[groups]\na = 1", "groups.a: must be an array of strings"),
        ("[groups]\na = ['b']", "'b' is neither a file that ends with .json nor one of the"),
        ("[[principals]]", "principals[1].arn: must be the ARN of a user"),
        (f"[[principals]]\narn='{USER}a'\nkey=['A']", "principals[1]: unknown member 'key'"),
        (f"[[principals]]\narn='{USER}a'\ngroups=['b']", "there is no group 'b'"),
        (f"[[principals]]\narn='{USER}a'\naccess='all'", 'access: can only be "full"'),
        (f"[[principals]]\narn='{USER}a'\naccess='full'\npolicies=[]", "cannot be combined with"),
        (f"[[principals]]\narn='{USER}a'\nsession_policy='a.json'", "only a session of a role"),
        (f"[[principals]]\narn='{USER}a'\nexpires='soon'", "expires: must be a date and time"),
        (f"[[principals]]\narn='{USER}a'\ntags=['a']", "tags: must be a table of strings"),
        (f"[[principals]]\narn='{USER}a'\npolicies=['b.json']", "b.json: No such file"),
        (f"[[principals]]\narn='{USER}root'", f"principals[2]: {USER}root is declared twice"),
        (f"[[principals]]\narn='{USER}a'\nkeys=['ROOT']", "ROOT belongs to an earlier principal"),
        (
            "[[principals]]\narn='arn:aws:iam::111111111111:user/a'",
            "account: a principal belongs to account 111111111111, not to 123456789012",
        ),
        ("[[principals", "access.toml: the file is not valid TOML"),
    ],
)
def test_a_faulty_file_stops_the_start(tmp_path: Path, lines: str, message: str) -> None:
    arguments = ("--access", access_file(tmp_path, {}, lines), "--keys", keys_file(tmp_path))
    ended = run("serve", *arguments, "--port", 0)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_files_that_others_can_use_stop_the_start(tmp_path: Path) -> None:
    arguments = given(tmp_path, ann=OWN_ITEMS)
    for name, mode, message in (
        ("keys", 0o644, "keys: other users can read the keys in it"),
        ("access.toml", 0o646, "access.toml: every user can change this file"),
        ("ann.json", 0o602, "ann.json: every user can change this file"),
    ):
        file = tmp_path / name
        before = file.stat().st_mode
        file.chmod(mode)
        ended = run("serve", *arguments, "--port", 0)
        file.chmod(before)
        assert message in ended.stderr
        assert ended.returncode == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--no-auth"], "--no-auth accepts every client"),
        (["--console"], "--console with --access needs --console-as ARN"),
        (["--console-as", "x"], "--console-as needs --console and --access"),
        (["--console", "--console-as", f"{USER}x"], f"--console-as: there is no principal {USER}x"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, more: list[str], message: str) -> None:
    ended = run("serve", *given(tmp_path), *more, "--port", 0)
    assert message in ended.stderr
    assert ended.returncode == 1


def test_keys_of_the_environment_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HASHRANGE_KEYS", "ROOT secret")
    arguments = given(tmp_path)
    for these in (arguments, arguments[:2]):
        ended = run("serve", *these, "--port", 0)
        assert "unset HASHRANGE_KEYS" in ended.stderr


def test_a_key_that_no_principal_has_stops_the_start(tmp_path: Path) -> None:
    arguments = given(tmp_path)
    keys_file(tmp_path, "eve")
    ended = run("serve", *arguments, "--port", 0)
    assert "access.toml: the access key 'EVE' belongs to no principal" in ended.stderr


def test_tables_of_another_account_stop_the_start(tmp_path: Path) -> None:
    with hashrange.connect(tmp_path / "app.db") as database:
        create_things(database)
    ended = run("serve", tmp_path / "app.db", *given(tmp_path), "--port", 0)
    assert "the tables belong to account 000000000000, not to 123456789012" in ended.stderr


def test_over_postgresql(tmp_path: Path, durable_postgres_server: PostgresServer) -> None:
    dsn = durable_postgres_server.new_schema()
    with serving(dsn, *given(tmp_path, ann=OWN_ITEMS)) as server:
        client(server, "root").create_table(
            TableName="things",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        ann = client(server, "ann")
        for user, key in KEYS.items():
            mine = user == "ann"
            assert allowed(ann.put_item, TableName="things", Item=key) is mine
            assert allowed(ann.get_item, TableName="things", Key=key) is mine
            text = f"SELECT * FROM things WHERE pk = '{user}#1'"
            assert allowed(ann.execute_statement, Statement=text) is mine


# ---- the commands ----


def test_explain(tmp_path: Path) -> None:
    access = access_file(tmp_path, {"ann": OWN_ITEMS})
    request = tmp_path / "request.json"
    with hashrange.connect(
        tmp_path / "app.db", settings=hashrange.Settings(access=access)
    ) as database:
        create_things(database)
    asking = ("--access", access, "--as", f"{USER}ann", "--db", tmp_path / "app.db")
    for user, status in (("ann", 0), ("bob", 1)):
        request.write_text(json.dumps({"TableName": "things", "Key": KEYS[user]}))
        said = run("access", "explain", *asking, "GetItem", request)
        assert said.returncode == status
        assert f"dynamodb:GetItem on {THINGS}: " in said.stdout
        assert f"dynamodb:leadingkeys = {user}#1" in said.stdout
        decided = "decided by Statement[0] of ann.json"
        assert (decided in said.stdout) is (user == "ann")
    with pytest.raises(ValueError, match="no access file"):
        hashrange.connect().explain("ListTables", {}, principal=f"{USER}ann")


def test_check(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"

    def findings(*statements: dict[str, Any], more: tuple[Any, ...] = ()) -> str:
        policy.write_text(document(*statements))
        return run("access", "check", policy, *more).stdout

    narrow = statement("Allow", ["dynamodb:GetItem"], THINGS, Condition=LEADING)
    assert "no statement is broader than it looks" in findings(narrow)
    scan = statement("Allow", "dynamodb:Scan", THINGS)
    assert "Statement[0]: Statement[1] allows Scan in spite of" in findings(narrow, scan)
    orders = Path(__file__).parents[2] / "examples" / "orders.py"
    everything = findings(statement("Allow", "*"), more=("--model", orders))
    assert "allowed on shop, although the model does not need it: " in everything


def test_prove_as_a_principal(tmp_path: Path) -> None:
    orders = Path(__file__).parents[2] / "examples" / "orders.py"
    exported = run("design", "export", orders, "--to", "iam").stdout
    scans = document(statement("Allow", ["dynamodb:Scan", "dynamodb:GetItem"]))
    access = access_file(tmp_path, {"app": exported, "scanning": scans})
    own = run("design", "prove", orders, "--access", access, "--as", f"{USER}app")
    assert "0 differences" in own.stdout
    assert "allowed on" not in own.stdout
    other = run(*("design", "prove", orders, "--access", access, "--as", f"{USER}scanning"))
    assert other.returncode == 1
    assert "allowed on shop, although the model does not need it: Scan" in other.stdout
    assert "denied: User:" in other.stdout
    alone = run("design", "prove", orders, "--as", f"{USER}app")
    assert "give --access and --as together" in alone.stderr


def test_an_expired_session_in_process(tmp_path: Path) -> None:
    """Of a mock by its key, and of a session of boto3, with which the console asks."""
    late = 'access = "full"\nexpires = 2001-01-01T00:00:00Z'
    early = 'access = "full"\nexpires = 2101-01-01T00:00:00Z'
    access = access_file(tmp_path, {"late": late, "early": early})
    with hashrange.mock(access=access) as database:
        for user in ("late", "early"):
            named = {"aws_access_key_id": user.upper(), "aws_secret_access_key": "x"}
            mocked = boto3.client("dynamodb", region_name=REGION, **named)
            acting = database.boto3_session(principal=f"{USER}{user}").client("dynamodb")
            for one in (mocked, acting):
                if user == "late":
                    assert code_of(one.list_tables) == "ExpiredTokenException"
                else:
                    assert allowed(one.list_tables)


def test_mock_with_an_access_file(tmp_path: Path) -> None:
    access = access_file(tmp_path, {"ann": document(statement("Allow", "dynamodb:ListTables"))})
    named = {"region_name": REGION, "aws_secret_access_key": "x"}
    with hashrange.mock(access=access):
        ann = boto3.client("dynamodb", aws_access_key_id="ANN", **named)
        assert allowed(ann.list_tables)
        assert not allowed(ann.describe_limits)
        stranger = boto3.client("dynamodb", aws_access_key_id="EVE", **named)
        assert code_of(stranger.list_tables) == "UnrecognizedClientException"
