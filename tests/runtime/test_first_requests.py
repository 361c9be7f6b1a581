"""Threads that make the first request of each kind at the same time do not crash the process."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from contextlib import suppress
import msgspec
from hashrange.model import requests
from hashrange.operations.common.parse import decode

BODY = (
    b'{"TableName":"abc","Key":{"a":{"S":"x"}},"UpdateExpression":"ADD n :o",'
    b'"ExpressionAttributeValues":{":o":{"N":"1"}},"Item":{"a":{"S":"x"}},'
    b'"Expected":{"a":{"Value":{"S":"q"},"Exists":true}},'
    b'"RequestItems":{"a":[{"PutRequest":{"Item":{"a":{"S":"x"}}}}]},'
    b'"TransactItems":[{"Put":{"TableName":"a","Item":{"a":{"S":"x"}}}}]}'
)
sys.setswitchinterval(1e-6)
found = [kind for kind in vars(requests).values() if isinstance(kind, type)]
kinds = [kind for kind in found if issubclass(kind, msgspec.Struct)]
together = threading.Barrier(6)

def request_all():
    together.wait()
    for kind in kinds:
        with suppress(Exception):
            decode(BODY, kind)

threads = [threading.Thread(target=request_all) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
def test_first_requests_at_the_same_time() -> None:
    for _ in range(10):  # without the lock, four of ten crashed
        subprocess.run([sys.executable, "-c", PROGRAM], check=True)
