"""Requests signed by botocore are admitted; changed ones, or ones without the key, are not."""

import gzip
import random
import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode

import pytest
from requests_as_sent import BODY
from signing import KEYS, NOW, TOKEN, Signed, accepted, refusal, sign, verdict

from hashrange import wire

MUTANTS = 5_000
MISMATCH = (
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details.",
)
UNKNOWN = (
    "UnrecognizedClientException",
    "The security token included in the request is invalid.",
)
NOT_ITS_TOKEN = (UNKNOWN[0], UNKNOWN[1].removesuffix("."))

WAYS: dict[str, Callable[[], Signed]] = {
    "header": sign,
    "query": lambda: sign(presigned_seconds=60),
    "session, header": lambda: sign(access_key="ASIA"),
    "session, query": lambda: sign(access_key="ASIA", presigned_seconds=60),
    "another query": lambda: sign(query="b=%2F&a=2&a=1&c"),
    "many headers": lambda: sign(X_Amz_Z="a   b  c", X_Amz_A="", Origin="http://x"),
    "no body": lambda: sign(body=b""),
    "another region": lambda: sign(region="us-gov-west-1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_signed_by_botocore(way: str) -> None:
    call = verdict(WAYS[way]())
    assert isinstance(call, wire.Call)
    assert call.operation == "GetItem"
    assert call.body == (b"" if way == "no body" else BODY)
    assert call.caller.access_key == ("ASIA" if "session" in way else "AKID")
    assert call.caller.region == ("us-gov-west-1" if way == "another region" else "eu-west-1")


def test_a_compressed_body_is_signed_as_sent() -> None:
    event = verdict(sign(body=gzip.compress(BODY), Content_Encoding="gzip"))
    assert isinstance(event, wire.Call)
    assert event.body == BODY


def test_a_kept_connection_verifies_each_request() -> None:
    connection = wire.Connection(
        wire.targets(["GetItem"]), wire.Verifier(wire.KeyRing(KEYS), NOW.timestamp)
    )
    forged = sign()
    forged.body = b'{"TableName":"Others"}'
    events = connection.feed(sign().sent() + forged.sent() + sign().sent())
    assert [type(event) for event in events] == [wire.Call, wire.Answer, wire.Call]


# ---- mutants ----


def flipped(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ 1 << chance.randrange(7)) + text[at + 1 :]


def flip_body(signed: Signed, chance: random.Random) -> None:
    body = bytearray(signed.body)
    body[chance.randrange(len(body))] ^= 1 << chance.randrange(8)
    signed.body = bytes(body)


def resize_body(signed: Signed, chance: random.Random) -> None:
    signed.body = chance.choice([signed.body[:-1], signed.body + b" ", b"{}", b""])


def flip_method(signed: Signed, chance: random.Random) -> None:
    signed.method = chance.choice([flipped("POST", chance), "GET", "PUT", "OPTIONS"])


def change_path(signed: Signed, chance: random.Random) -> None:
    signed.path = chance.choice(["/x", "/./", "//", "/%2F", flipped("/", chance)])


def signed_names(signed: Signed) -> list[str]:
    text = signed.headers.get("Authorization") or signed.query.replace("%3B", ";")
    [names] = re.findall(r"SignedHeaders=([a-z0-9;-]+)", text)
    return [name for name in signed.headers if name.lower() in names.split(";")]


def flip_header(signed: Signed, chance: random.Random) -> None:
    name = chance.choice(signed_names(signed))
    signed.headers[name] = flipped(signed.headers[name], chance)


def drop_header(signed: Signed, chance: random.Random) -> None:
    del signed.headers[chance.choice(signed_names(signed))]


def repeat_header(signed: Signed, chance: random.Random) -> None:
    name = chance.choice(signed_names(signed))
    again = {name.swapcase(): chance.choice([signed.headers[name], "x"])}
    first = chance.random() < 0.5
    signed.headers = {**again, **signed.headers} if first else {**signed.headers, **again}


def add_amz_header(signed: Signed, chance: random.Random) -> None:
    signed.headers[f"X-Amz-{chance.randrange(1000)}"] = "x"


def change_authorization(signed: Signed, chance: random.Random) -> None:
    """One of its values: key, date, region, service, terminator, headers or signature."""
    if "Authorization" not in signed.headers:
        change_query(signed, chance)
        return
    parts = re.split(r"([/,;= ]+)", signed.headers["Authorization"])
    at = chance.choice([i for i in range(2, len(parts), 2) if not parts[i][:1].isupper()])
    parts[at] = chance.choice([flipped(parts[at], chance), parts[at][:-1], ""])
    signed.headers["Authorization"] = "".join(parts)


def change_query(signed: Signed, chance: random.Random) -> None:
    pairs = [list(pair) for pair in parse_qsl(signed.query, keep_blank_values=True)]
    match chance.choice(["add", "flip", "drop", "repeat"] if pairs else ["add"]):
        case "add":
            pairs.append([f"a{chance.randrange(1000)}", "b"])
        case "flip":
            pair = chance.choice(pairs)
            side = chance.randrange(2)
            pair[side] = flipped(pair[side], chance)
        case "drop":
            pairs.remove(chance.choice(pairs))
        case "repeat":
            pair = chance.choice([p for p in pairs if p[0] != "X-Amz-Signature"])
            pairs.append([pair[0], chance.choice([pair[1], "x"])])
    signed.query = urlencode([(name, value) for name, value in pairs])


MUTATIONS = (
    *(flip_body, resize_body, flip_method, change_path, flip_header, drop_header),
    *(repeat_header, add_amz_header, change_authorization, change_authorization, change_query),
)
SIGNERS = ("header", "query", "session, header", "session, query")


def test_every_mutant_is_refused() -> None:
    for number in range(MUTANTS):
        chance = random.Random(number)
        way, mutation = chance.choice(SIGNERS), chance.choice(MUTATIONS)
        signed = WAYS[way]()
        before = signed.sent()
        mutation(signed, chance)
        assert signed.sent() != before
        assert not accepted(signed), (number, way, mutation.__name__, signed.sent())


# ---- which fault is reported ----


def without_signed(name: str) -> Signed:
    signed = sign()
    authorization = signed.headers["Authorization"]
    signed.headers["Authorization"] = re.sub(rf"(?<=[=;]){name}[;]?", "", authorization)
    return signed


def broken_json() -> Signed:
    return sign(access_key="nobody", secret="x", body=b'{"', at=NOW - timedelta(days=1))


def late_elsewhere() -> Signed:
    signed = sign(at=NOW - timedelta(minutes=16), access_key="nobody")
    signed.headers["Authorization"] = signed.headers["Authorization"].replace("dynamodb", "s3")
    return signed


def elsewhere() -> Signed:
    signed = sign(access_key="nobody")
    signed.headers["Authorization"] = signed.headers["Authorization"].replace("dynamodb", "s3")
    return signed


EXPIRED = "Signature expired: 20260101T114459Z is now earlier than 20260101T114500Z "
EARLY = "Signature not yet current: 20260101T121501Z is still later than 20260101T121500Z "
MUST = "must be a 'SignedHeader' in the AWS Authorization."
INVALID = "InvalidSignatureException"

# In order of precedence: each request also has faults of the later ones.
FAULTS: list[tuple[str, Callable[[], Signed], tuple[str, str]]] = [
    ("broken JSON", broken_json, ("SerializationException", "")),
    ("too late, another service", late_elsewhere,
     (INVALID, "Signature expired: 20260101T114400Z is now earlier than 20260101T114500Z "
               "(20260101T120000Z - 15 min.)")),
    ("too late", lambda: sign(access_key="nobody", at=NOW - timedelta(seconds=901)),
     (INVALID, EXPIRED + "(20260101T120000Z - 15 min.)")),
    ("too early", lambda: sign(access_key="nobody", at=NOW + timedelta(seconds=901)),
     (INVALID, EARLY + "(20260101T120000Z + 15 min.)")),
    ("a presigned query's own time",
     lambda: sign(access_key="nobody", presigned_seconds=60, at=NOW - timedelta(seconds=61)),
     (INVALID, "Signature expired: 20260101T115859Z is now earlier than 20260101T115900Z "
               "(20260101T120000Z - 60 sec.)")),
    ("more time than everybody has",
     lambda: sign(presigned_seconds=3600, at=NOW - timedelta(seconds=901)),
     (INVALID, EXPIRED + "(20260101T120000Z - 15 min.)")),
    ("another service, unknown key", elsewhere,
     (INVALID, "Credential should be scoped to correct service: 'dynamodb'. ")),
    ("host is not signed", lambda: without_signed("host"),
     (INVALID, f"'Host' or ':authority' {MUST}")),
    ("the target is not signed", lambda: without_signed("x-amz-target"),
     (INVALID, f"'x-amz-target' {MUST}")),
    ("an unknown key", lambda: sign(access_key="nobody"), UNKNOWN),
    ("an unknown key with a token", lambda: sign(access_key="nobody", token="x"), UNKNOWN),
    ("a token that the key has not", lambda: sign(token="x", secret="wrong"), NOT_ITS_TOKEN),
    ("another token", lambda: sign(access_key="ASIA", token=TOKEN[:-1], secret="wrong"),
     NOT_ITS_TOKEN),
    ("another secret", lambda: sign(secret="wrong"), MISMATCH),
    ("another secret, query", lambda: sign(secret="wrong", presigned_seconds=60), MISMATCH),
]  # fmt: skip


@pytest.mark.parametrize(("signed", "told"), [pytest.param(*fault, id=id) for id, *fault in FAULTS])
def test_fault(signed: Callable[[], Signed], told: tuple[str, str]) -> None:
    assert refusal(signed()) == told


def test_a_session_without_its_token() -> None:
    signed = sign(access_key="ASIA")
    del signed.headers["X-Amz-Security-Token"]
    assert refusal(signed) == NOT_ITS_TOKEN


def test_a_signature_that_does_not_cover_the_body() -> None:
    """botocore uses the hash in the header, as S3 does; this service hashes the body."""
    signed = sign(X_Amz_Content_SHA256="UNSIGNED-PAYLOAD")
    assert refusal(signed) == MISMATCH


@pytest.mark.parametrize("seconds", [-900, 0, 900])
def test_clocks_may_differ_by_15_minutes(seconds: int) -> None:
    assert accepted(sign(at=NOW + timedelta(seconds=seconds)))


@pytest.mark.parametrize("expires", ["", "-1", "1e3", "\u0663", "9" * 40])
def test_an_expiry_that_is_not_a_number(expires: str) -> None:
    signed = sign(presigned_seconds=60)
    signed.query = signed.query.replace("X-Amz-Expires=60", urlencode({"X-Amz-Expires": expires}))
    assert refusal(signed) == (INVALID, "X-Amz-Expires should be a number")


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_a_second_authorization_header_is_refused(name: str) -> None:
    signed = sign()
    authorization = signed.headers["Authorization"]
    for first, second in ((authorization, "x"), ("x", authorization), (authorization,) * 2):
        signed.headers["Authorization"] = f"{first}\r\n{name}: {second}"
        event = verdict(signed)
        assert isinstance(event, wire.Answer)
        assert (event.data[9:12], event.close) == (b"400", True)


def test_without_keys_a_second_one_in_another_case_is_refused() -> None:
    signed = sign(Host="localhost")
    signed.headers["authorization"] = signed.headers["Authorization"]
    [event] = wire.Connection(wire.targets(["GetItem"])).feed(signed.sent())
    assert isinstance(event, wire.Answer)
    assert (event.data[9:12], event.close) == (b"400", True)


def test_the_clock_and_the_key_matter_only_where_keys_are_configured() -> None:
    [call] = wire.Connection(wire.targets(["GetItem"])).feed(
        sign(access_key="nobody", Host="x").sent()
    )
    assert isinstance(call, wire.Call)
    assert call.caller.access_key == "nobody"


# ---- lists of keys ----


def test_keys_as_written() -> None:
    assert wire.read_keys("# who\n\n a b \r\nc\td/+  e=\n") == {
        "a": wire.Key("b"),
        "c": wire.Key("d/+", "e="),
    }


NO_KEYS = "there are no keys; write a line for each: access_key secret_key [session_token]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", NO_KEYS),
        ("# nothing\n", NO_KEYS),
        ("a b\nsecret", "line 2 does not have the form: access_key secret_key [session_token]"),
        ("a b c d", "line 1 does not have the form: access_key secret_key [session_token]"),
        ("a/b c", "line 1 does not have the form: access_key secret_key [session_token]"),
        ("a b\n\na c", "line 3 repeats the access key of an earlier line"),
    ],
)
def test_texts_that_are_not_lists_of_keys(text: str, message: str) -> None:
    with pytest.raises(wire.KeysError) as refused:
        wire.read_keys(text)
    assert str(refused.value) == message
