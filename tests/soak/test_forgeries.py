"""Forged, changed and replayed requests: none that changes what is signed is admitted."""

from datetime import timedelta
from random import Random

from signing import KEYS, NOW, Signed, sign

from hashrange import wire

from .runs import Violation, chance, times

SHORT, SOAK = 1_000, 500_000
HOURS_MAX = 48
LATE_SECONDS_MAX = 15 * 60 + 1
"""The server compares whole seconds."""
_HEADERS = ("Host", "X-Amz-Target", "X-Amz-Date", "Authorization", "Content-Type")


def test_no_forged_request_is_admitted() -> None:
    with chance() as random:
        originals = [
            sign(),
            sign(access_key="ASIA"),
            sign(presigned_seconds=60),
            sign(access_key="ASIA", presigned_seconds=60),
            sign(query="a=1&b=2"),
        ]
        calls = [admitted(each, 0) for each in originals]
        assert None not in calls
        for _ in range(times(SHORT, SOAK)):
            number = random.randrange(len(originals))
            forged, late = forge(originals[number], random)
            found = admitted(forged, late)
            if found is not None and (abs(late) >= LATE_SECONDS_MAX or found != calls[number]):
                raise Violation(f"{late} s late: {forged.sent()!r}")


def admitted(signed: Signed, late: float) -> tuple[object, ...] | None:
    """What a server is asked to do, and by whom; None if it refuses the request."""
    clock = (NOW + timedelta(seconds=late)).timestamp
    verifier = wire.Verifier(wire.KeyRing(KEYS), clock)
    connection = wire.Connection(wire.targets(["GetItem", "PutItem", "Scan"]), verifier)
    for event in connection.feed(signed.sent()):
        if isinstance(event, wire.Call):
            caller = event.caller
            return event.operation, event.body, caller.access_key, caller.region, caller.account
    return None


def forge(original: Signed, random: Random) -> tuple[Signed, float]:
    """A request with some changes, and how late it arrives, in seconds."""
    forged = Signed(original.query, dict(original.headers), original.body)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        random.choice((change_body, change_header, add_header, change_query, change_url))(
            forged, random
        )
    late = random.choice((0, 0, 0, random.uniform(-HOURS_MAX, HOURS_MAX) * 3600))
    return forged, late


def changed(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    letter = random.choice(" /=&;,%+*.\t0aZ")
    return random.choice(
        (
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at + 1 :],
            text[:at] + text[at : at + 8].swapcase() + text[at + 8 :],
            text + text[-at:],
        )
    )


def change_body(forged: Signed, random: Random) -> None:
    forged.body = changed(forged.body.decode("latin-1"), random).encode("latin-1")


def change_header(forged: Signed, random: Random) -> None:
    name = random.choice(_HEADERS)
    if name in forged.headers:
        forged.headers[name] = changed(forged.headers[name], random).strip()


def add_header(forged: Signed, random: Random) -> None:
    name = random.choice(("X-Amz-Target", "X-Amz-Security-Token", "X-Amz-Date", "Host", "Via"))
    spelled = random.choice((name.lower(), name.upper(), name + "-X"))
    forged.headers[spelled] = random.choice(("DynamoDB_20120810.Scan", "AKID", "", "20260101"))


def change_query(forged: Signed, random: Random) -> None:
    more = random.choice(("&X-Amz-Expires=604800", "&a=1", "&X-Amz-Date=20260101T120000Z", "&"))
    forged.query = random.choice((forged.query + more, changed(forged.query, random)))


def change_url(forged: Signed, random: Random) -> None:
    forged.path = random.choice(("/", "//", "/a", "/%2f", "/./"))
    forged.method = random.choice(("POST", "POST", "PUT", "GET"))
