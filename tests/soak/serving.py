"""A server in a process of its own, and clients that speak plain HTTP."""

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

SERVE = "import sys; from hashrange.tools.cli import main; sys.argv[0] = 'hashrange'; main()"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=00",
    "X-Amz-Date": "20260101T000000Z",
}
STREAM_OPERATIONS = ("DescribeStream", "GetShardIterator", "GetRecords")


class Server:
    """`hashrange serve` with these arguments. `program` may change something before it serves.

    A server that is started again keeps its port.
    """

    def __init__(self, *arguments: str, program: str = "") -> None:
        self.port = 0
        self._words: Sequence[str] = (sys.executable, "-c", program + SERVE, "serve", *arguments)
        self.start()

    def start(self) -> None:
        words = [*self._words, "--port", str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        found = next(filter(None, (re.search(r":(\d+) ", line) for line in self.process.stdout)))
        self.port = int(found[1])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()


class NoAnswerError(Exception):
    """The server has gone; whether the request was executed is not known."""


class Connection:
    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the body of the answer. Raises NoAnswerError."""
        service = "DynamoDBStreams" if operation in STREAM_OPERATIONS else "DynamoDB"
        headers = HEADERS | {"X-Amz-Target": f"{service}_20120810.{operation}"}
        try:
            self._connection.request("POST", "/", json.dumps(request), headers)
            response = self._connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswerError from error

    def close(self) -> None:
        self._connection.close()
