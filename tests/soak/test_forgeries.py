"""Forged, changed and replayed requests: none that changes what is signed is admitted."""

import re
from datetime import timedelta
from random import Random

from signing import KEYS, NOW, TOKEN, Signed, sign

from hashrange import wire

from .runs import Violation, chance, times

SHORT, SOAK = 1_000, 500_000
HOURS_MAX = 48
PRESIGNED_SECONDS = 60
LATE_SECONDS_MAX = 15 * 60 + 1
"""The server compares whole seconds."""
_HEADERS = ("Host", "X-Amz-Target", "X-Amz-Date", "Authorization", "Content-Type")


def test_no_forged_request_is_admitted() -> None:
    with chance() as random:
        originals = [
            sign(),
            sign(access_key="ASIA"),
            sign(presigned_seconds=PRESIGNED_SECONDS),
            sign(access_key="ASIA", presigned_seconds=PRESIGNED_SECONDS),
            sign(query="a=1&b=2"),
        ]
        calls = [admitted(each, 0) for each in originals]
        assert None not in calls
        # Whoever leaves out what names the operation or the signer is not admitted at all.
        originals += [
            sign(unsigned={"x-amz-target"}),
            sign(unsigned={"host"}),
            sign(access_key="ASIA", unsigned={"x-amz-security-token"}),
            sign(presigned_seconds=PRESIGNED_SECONDS, unsigned={"x-amz-target"}),
        ]
        calls += [None] * 4
        for _ in range(times(SHORT, SOAK)):
            if random.random() < STRANGERS:
                stranger = sign_as_stranger(random)
                if admitted(stranger, 0) is not None:
                    raise Violation(f"by a stranger: {stranger.sent()!r}")
                continue
            number = random.randrange(len(originals))
            forged, late = forge(originals[number], random)
            found = admitted(forged, late)
            if found is None:
                continue
            same = found == calls[number] and signature(forged) == signature(originals[number])
            if not same or not -LATE_SECONDS_MAX < late < late_seconds_max(originals[number]):
                raise Violation(f"{late} s late: {forged.sent()!r}")


def late_seconds_max(original: Signed) -> int:
    return PRESIGNED_SECONDS + 1 if "X-Amz-Expires" in original.query else LATE_SECONDS_MAX


def signature(signed: Signed) -> str:
    """The last one that is there counts."""
    return str(_SIGNATURE.findall(f"{signed.query} {signed.headers.get('Authorization')}")[-1])


STRANGERS = 0.1
"""The part of requests that are signed anew, by whoever has not the whole key."""


def sign_as_stranger(random: Random) -> Signed:
    access_key = random.choice(list(KEYS))
    key = KEYS[access_key]
    presigned_seconds = random.choice((None, PRESIGNED_SECONDS))
    tokens = ("", "x", key.token[:-1], key.token + "=", TOKEN.swapcase())
    token = random.choice([each for each in tokens if each != key.token])
    secret = random.choice((key.secret[:-1], key.secret.upper(), key.secret + "x", access_key))
    wrong = random.choice(("token", "secret", "both"))
    return sign(
        access_key=access_key,
        presigned_seconds=presigned_seconds,
        token=key.token if wrong == "secret" else token,
        secret=key.secret if wrong == "token" else secret,
    )


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
        random.choice(CHANGES)(forged, random)
    hours = random.choice((0, 0, 0, HOURS_MAX, 2 * LATE_SECONDS_MAX / 3600))
    late = random.uniform(-hours, hours) * 3600
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


_SIGNATURE = re.compile(r"(?<=Signature=)[^&,\s]*")


def change_signature(forged: Signed, random: Random) -> None:
    """Keeps its beginning or its end, or cuts it off."""

    def other(found: re.Match[str]) -> str:
        digits = found[0]
        kept = random.choice((0, 1, 2, 4, 8, 16, 32, 56, 63))
        more = "".join(random.choices("0123456789abcdef", k=64 - kept))
        return random.choice((digits[:kept] + more, more + digits[64 - kept :], digits[:kept]))

    forged.query = _SIGNATURE.sub(other, forged.query)
    if "Authorization" in forged.headers:
        forged.headers["Authorization"] = _SIGNATURE.sub(other, forged.headers["Authorization"])


CHANGES = (change_body, change_header, add_header, change_query, change_url, change_signature)
