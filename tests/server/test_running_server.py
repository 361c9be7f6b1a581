"""A server that runs for long: its options by environment, its admin port, and SIGHUP."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
import trustme
from botocore.config import Config
from botocore.exceptions import ClientError
from command_line import command_line as run
from programs import Serving, fault, get, path, serving
from waiting import SECONDS_MAX, wait_until

__all__ = ["path"]  # a fixture
pytestmark = pytest.mark.slow

KEY = {"pk": {"S": "kept"}}


# ---- the environment ----


class TestEnvironment:
    def test_each_option_has_a_variable(self, path: Path) -> None:
        variables = {
            "HASHRANGE_DB": str(path),
            "HASHRANGE_DURABILITY": "relaxed",
            "HASHRANGE_ADMIN_PORT": "0",
            "HASHRANGE_ADMIN_TOKEN": "a token of some length",
            "HASHRANGE_ACCESS_LOG": "yes",
            "HASHRANGE_LOG_FORMAT": "json",
            "HASHRANGE_CORS": "http://a.example, http://b.example:81",
            "HASHRANGE_NO_AUTH": "0",
            "HASHRANGE_TLS_CERT": "",
        }
        with serving(**variables) as server:
            assert server.greeting.startswith(f"Serving {path} (durability relaxed) on http://")
            assert server.process.stdout
            admin = server.process.stdout.readline()
            assert admin.endswith(" - its token is in HASHRANGE_ADMIN_TOKEN\n")
            assert server.client().get_item(TableName="Things", Key=KEY)["Item"] == KEY
            assert get(server.port, "/", {"Host": "b.example"})[0] == 200
            status, said = server.end(signal.SIGTERM)
        assert status == 0
        lines = [json.loads(line) for line in said.splitlines()]
        assert [(each["operation"], each.get("table")) for each in lines] == [
            ("GetItem", "Things"),
            ("", None),  # the health check
        ]

    def test_the_command_line_wins(self, path: Path) -> None:
        with serving(path, HASHRANGE_DB="elsewhere.db", HASHRANGE_PORT="1") as server:
            assert str(path) in server.greeting

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("HASHRANGE_PORT", "80000", "'80000' is not a number from 0 to 65535"),
            ("HASHRANGE_PORT", "tcp://10.0.0.1:80", "'tcp://10.0.0.1:80' is not a number from 0"),
            ("HASHRANGE_ADMIN_PORT", "-1", "'-1' is not a number from 0 to 65535"),
            ("HASHRANGE_DURABILITY", "some", "'some' is not one of full, relaxed, memory"),
            ("HASHRANGE_LOG_FORMAT", "xml", "'xml' is not one of text, json"),
            ("HASHRANGE_NO_AUTH", "maybe", "'maybe' is neither 1 (or true, yes, on) nor 0"),
            ("HASHRANGE_KEYS", "nonsense", "line 1 does not have the form: access_key secret_key"),
            ("HASHRANGE_CORS", "nonsense", "'nonsense' is not an origin"),
            ("HASHRANGE_KEYS_FILE", "/nowhere/keys", "No such file or directory"),
            ("HASHRANGE_TLS_CERT", "/nowhere/cert", "No such file or directory"),
        ],
    )
    def test_a_value_that_makes_no_sense(self, name: str, text: str, said: str) -> None:
        line = fault("serve", **{name: text})
        assert said in line
        if not text.startswith("/nowhere"):
            assert line.startswith(f"{name}: ") or name == "HASHRANGE_CORS"

    def test_a_token_that_is_too_short(self) -> None:
        line = fault("serve", "--port", 0, "--admin-port", 0, HASHRANGE_ADMIN_TOKEN="short")
        assert line.startswith("HASHRANGE_ADMIN_TOKEN: ")

    def test_a_misspelt_variable(self) -> None:
        with serving(HASHRANGE_DURABILTY="relaxed", HASHRANGE_SERVICE_HOST="10.0.0.1") as server:
            status, said = server.end(signal.SIGTERM)
        assert (status, said) == (
            0,
            "hashrange: HASHRANGE_DURABILTY is ignored; did you mean HASHRANGE_DURABILITY?\n",
        )


# ---- the access log ----


def test_the_access_log_knows_what_each_request_consumed(path: Path) -> None:
    with serving(path, "--access-log", "--log-format", "json") as server:
        client = server.client()
        client.get_item(TableName="Things", Key=KEY)
        client.get_item(TableName="Things", Key=KEY, ConsistentRead=True)
        client.query(
            TableName="Things",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": KEY["pk"]},
        )
        client.put_item(TableName="Things", Item={**KEY, "text": {"S": "x" * 2_000}})
        writes = [{"Put": {"TableName": "Things", "Item": {"pk": {"S": "new"}}}}]
        client.transact_write_items(TransactItems=writes)
        client.list_tables()
        with pytest.raises(ClientError):
            client.get_item(TableName="Absent", Key=KEY)
        _, said = server.end(signal.SIGTERM)
    lines = [json.loads(line) for line in said.splitlines()]
    assert [(each.get("read_units"), each.get("write_units")) for each in lines] == [
        (0.5, 0),
        (1.0, 0),
        (0.5, 0),
        (0, 2.0),
        (0, 2.0),
        (None, None),
        (None, None),
    ]


# ---- clients without keys on a closed network ----


class TestNoAuth:
    def test_any_credentials_are_accepted_with_a_warning(self) -> None:
        with serving("--host", "0.0.0.0", "--no-auth") as server:
            assert server.client().list_tables()["TableNames"] == []
            status, said = server.end(signal.SIGTERM)
        assert status == 0
        assert " WARNING hashrange --no-auth: EVERY CLIENT that reaches http://0.0.0.0:" in said

    def test_it_contradicts_keys(self) -> None:
        line = fault("serve", "--port", 0, "--no-auth", HASHRANGE_KEYS="AKID secret")
        assert line == (
            "--no-auth accepts every client, so it cannot be combined with keys: omit one"
        )


# ---- the admin port ----


class TestAdminPort:
    def test_health_and_metrics(self, path: Path) -> None:
        with serving(path, "--admin-port", 0) as server:
            port, token = server.admin()
            server.client().get_item(TableName="Things", Key=KEY)
            assert get(port, "/healthz") == (200, "alive\n")
            assert get(port, "/readyz") == (200, "ready\n")
            assert get(port, "/metrics")[0] == 401
            status, metrics = get(port, "/metrics", {"Authorization": f"Bearer {token}"})
            assert status == 200
            assert 'hashrange_request_seconds_count{operation="GetItem"} 1.0' in metrics
            assert "\nhashrange_commits_total " in metrics
            assert server.end(signal.SIGTERM) == (0, "")

    def test_damage_that_a_request_meets_ends_readiness(self, path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"kept"', b'"kepd"'))
        with serving(path, "--admin-port", 0) as server:
            port, _ = server.admin()
            assert get(port, "/readyz") == (200, "ready\n")
            client = boto3.client(
                "dynamodb",
                endpoint_url=f"http://127.0.0.1:{server.port}",
                region_name="us-east-1",
                aws_access_key_id="x",
                aws_secret_access_key="y",
                config=Config(retries={"total_max_attempts": 1}),
            )
            with pytest.raises(ClientError, match="InternalServerError"):
                client.get_item(TableName="Things", Key=KEY)
            status, problem = get(port, "/readyz")
        assert status == 503
        assert problem == ("a row's checksum is wrong; run hashrange check, and restore a backup\n")

    def test_a_port_in_use(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        with serving() as other:
            line = fault("serve", path, "--port", 0, "--admin-port", other.port)
            assert line == f"port {other.port} of 127.0.0.1 is in use; choose another port"
        assert not path.exists()

    def test_it_costs_nothing_while_it_is_off(self) -> None:
        program = (
            "import builtins, os, signal, sys\n"
            "from hashrange.tools.cli import main\n"
            "def greet(*lines, **_):\n"
            "    sys.stdout.write(str('hashrange.server.admin' in sys.modules))\n"
            "    os.kill(os.getpid(), signal.SIGTERM)\n"
            "builtins.print = greet\n"
            "sys.argv = ['hashrange', 'serve', '--port', '0', *sys.argv[1:]]\n"
            "main()\n"
        )
        off: list[str] = []
        for options, loaded in (off, "False"), (["--admin-port", "0"], "True"):
            command = [sys.executable, "-c", program, *options]
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
            assert ended.stdout == loaded


# ---- SIGHUP ----


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
class TestReload:
    def accepts(self, server: Serving, access_key: str) -> bool:
        client = boto3.client(
            "dynamodb",
            endpoint_url=f"http://127.0.0.1:{server.port}",
            region_name="us-east-1",
            aws_access_key_id=access_key,
            aws_secret_access_key="secret",
        )
        try:
            client.list_tables()
        except ClientError:
            return False
        return True

    def keys(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o600)

    def test_keys(self, tmp_path: Path) -> None:
        keys = tmp_path / "keys"
        self.keys(keys, "old secret\n")
        with serving("--keys", keys) as server:
            assert self.accepts(server, "old")
            self.keys(keys, "new secret\n")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: self.accepts(server, "new"))
            assert not self.accepts(server, "old")
            self.keys(keys, "this is not a key file\n")
            server.process.send_signal(signal.SIGHUP)
            assert self.accepts(server, "new")
            status, said = server.end(signal.SIGTERM)
        read, kept = said.splitlines()
        assert status == 0
        assert read.endswith("INFO hashrange SIGHUP: the file of keys was read again")
        assert kept.endswith(
            "ERROR hashrange SIGHUP: the file of keys is invalid; the previous one stays in use: "
            f"{keys}: line 1 does not have the form: access_key secret_key [session_token]"
        )

    def test_certificates(self, tmp_path: Path) -> None:
        authority = trustme.CA()
        certificate = tmp_path / "server.pem"

        def issue(name: str) -> None:
            issued = authority.issue_cert("127.0.0.1", name)
            issued.private_key_and_cert_chain_pem.write_to_path(certificate)

        def served() -> str:
            context = ssl.create_default_context()
            authority.configure_trust(context)
            with (
                socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS_MAX) as plain,
                context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
            ):
                found = secure.getpeercert()
            assert found
            return str(found["subjectAltName"])

        issue("first.example")
        with serving("--tls-cert", certificate) as server:
            assert "first.example" in served()
            issue("second.example")
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "second.example" in served())
            certificate.write_text("not a certificate")
            server.process.send_signal(signal.SIGHUP)
            assert "second.example" in served()
            status, said = server.end(signal.SIGTERM)
        assert status == 0
        assert said.count("SIGHUP: ") == 2
        assert "SIGHUP: the certificate is invalid; the previous one stays in use: " in said


# ---- ping ----


class TestPing:
    def test_a_server(self, path: Path) -> None:
        with serving(path, "--admin-port", 0) as server:
            port, _ = server.admin()
            for url, said in (
                (f"http://127.0.0.1:{server.port}", "healthy: dynamodb.us-east-1.amazonaws.com"),
                (f"http://127.0.0.1:{port}/readyz", "ready"),
            ):
                ended = run("ping", url, HTTP_PROXY="http://127.0.0.1:1")
                assert ended.returncode == 0
                assert ended.stdout.startswith(f"{url}: {said} (")

    def test_a_certificate_of_an_own_authority(self, path: Path, tmp_path: Path) -> None:
        authority = trustme.CA()
        trusted, certificate = tmp_path / "ca.pem", tmp_path / "server.pem"
        authority.cert_pem.write_to_path(str(trusted))
        issued = authority.issue_cert("127.0.0.1")
        issued.private_key_and_cert_chain_pem.write_to_path(str(certificate))
        with serving(path, "--tls-cert", certificate) as server:
            url = f"https://127.0.0.1:{server.port}"
            assert "certificate" in fault("ping", url)
            ended = run("ping", url, AWS_CA_BUNDLE=str(trusted))
            assert ended.stdout.startswith(f"{url}: healthy")

    def test_a_refusal(self, path: Path) -> None:
        with serving(path, "--admin-port", 0) as server:
            url = f"http://127.0.0.1:{server.admin()[0]}/metrics"
            assert fault("ping", url) == (
                f"{url}: status 401: this path needs the header Authorization: Bearer TOKEN"
            )

    def test_a_server_that_is_not_there(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert fault("ping", url) == f"{url}: Connection refused"

    @pytest.mark.parametrize("url", ["http://", "http://[", "http://127.0.0.1:port"])
    def test_a_url_that_makes_no_sense(self, url: str) -> None:
        assert fault("ping", url).startswith(f"{url}: ")

    def test_a_file(self, path: Path) -> None:
        ended = run("ping", path)
        assert ended.stdout.startswith(f"{path}: opens (")
        path.write_bytes(b"junk" * 100)
        assert fault("ping", path) == f"{path}: not a hashrange database; name another file"

    def test_postgresql(self) -> None:
        line = fault("ping", "postgresql://me:secret@127.0.0.1:1/app")
        assert "secret" not in line
        assert "no such file" not in line

    def test_a_missing_file(self, tmp_path: Path) -> None:
        assert fault("ping", tmp_path / "none") == f"{tmp_path / 'none'}: no such file"


# ---- a container's volume ----


def test_a_volume_that_is_not_mounted_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with serving(path, HASHRANGE_VOLUME=str(tmp_path)) as server:
        status, said = server.end(signal.SIGTERM)
    assert status == 0
    assert said.endswith(
        f" WARNING hashrange no volume is mounted at {tmp_path}: "
        f"{path} will be lost when this container is removed\n"
    )


@pytest.mark.parametrize("volume", ["", "/", "/elsewhere"])
def test_a_database_elsewhere_or_on_a_mounted_volume(tmp_path: Path, volume: str) -> None:
    with serving(tmp_path / "app.db", HASHRANGE_VOLUME=volume) as server:
        assert server.end(signal.SIGTERM) == (0, "")


def test_a_volume_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        tmp_path = tmp_path / "missing"  # this user may write everything that is there
    line = fault("serve", tmp_path / "app.db", "--port", 0, HASHRANGE_VOLUME=str(tmp_path))
    assert line == (
        f"{tmp_path}: user {os.getuid()} may not write there; give the volume to that user"
    )
