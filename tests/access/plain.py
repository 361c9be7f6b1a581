"""A second evaluator of policies, in the plainest Python, straight from the documents.

It is slow and knows only operators on texts: enough to compare the order of evaluation, the
Not-elements, sets, absent keys and variables with the real one.
"""

import re
from typing import Any

Document = dict[str, Any]
Keys = dict[str, list[str]]


def allowed(
    identity: list[Document],
    boundary: Document | None,
    session: Document | None,
    resource_policy: Document | None,
    names: dict[str, bool],
    action: str,
    resource: str,
    keys: Keys,
) -> bool:
    """`names` says what each principal of the resource's policy is: named by itself or not."""
    documents = [*identity, boundary, session]
    applying = [each for one in documents if one for each in effects(one, action, resource, keys)]
    of_resource = []
    for each in statements(resource_policy):
        principal = each["Principal"]["AWS"]
        if principal in names and applies(each, action, resource, keys):
            of_resource.append((each["Effect"], names[principal]))
    if "Deny" in applying or any(effect == "Deny" for effect, _ in of_resource):
        return False
    if ("Allow", True) in of_resource:
        return True
    for limit in (boundary, session):
        if limit and "Allow" not in effects(limit, action, resource, keys):
            return False
    own = [each for one in identity for each in effects(one, action, resource, keys)]
    return "Allow" in own


def statements(one: Document | None) -> list[Document]:
    return one["Statement"] if one else []


def effects(one: Document, action: str, resource: str, keys: Keys) -> list[str]:
    return [each["Effect"] for each in statements(one) if applies(each, action, resource, keys)]


def applies(one: Document, action: str, resource: str, keys: Keys) -> bool:
    deny = one["Effect"] == "Deny"
    if "Action" in one:
        if not any(glob(each.lower(), action.lower()) for each in one["Action"]):
            return False
    elif any(glob(each.lower(), action.lower()) for each in one["NotAction"]):
        return False
    name = "Resource" if "Resource" in one else "NotResource"
    filled = [fill(each, keys) for each in one[name]]
    matched = any(each is not None and glob(each, resource, arn=True) for each in filled)
    if None in filled and not matched:
        if not deny:
            return False
    elif matched is not (name == "Resource"):
        return False
    return all(
        holds(operator, keys.get(key, []), wanted, keys, deny)
        for operator, tests in one.get("Condition", {}).items()
        for key, wanted in tests.items()
    )


def holds(operator: str, found: list[str], wanted: list[str], keys: Keys, deny: bool) -> bool:
    quantifier, _, name = operator.rpartition(":")
    if name == "Null":
        return wanted == [str(not found).lower()]
    if_exists = name.endswith("IfExists")
    name = name.removesuffix("IfExists")
    negated = "Not" in name
    like = name.endswith("Like")
    if not found:
        if if_exists:
            return True
        return quantifier == "ForAllValues" or (negated and quantifier == "")
    # Without the variables that have no value: first as if they matched nothing, then everything.
    filled = [fill(each, keys, keep=not like) for each in wanted]
    guesses = [
        outcome([any_match(each, filled, like, guess) for each in found], quantifier, negated)
        for guess in (False, True)
    ]
    return guesses[0] if guesses[0] == guesses[1] else deny


def any_match(value: str, filled: list[str | None], like: bool, guess: bool) -> bool:
    return any(
        guess if each is None else (glob(each, value) if like else each == value) for each in filled
    )


def outcome(matches: list[bool], quantifier: str, negated: bool) -> bool:
    outcomes = [not match for match in matches] if negated else matches
    if quantifier == "ForAnyValue":
        return any(outcomes)
    if quantifier == "ForAllValues" or negated:
        return all(outcomes)
    return False  # the only keys here are sets


STAR = "\ue000"
"""Stands for a star of a value, which is no wildcard."""


def fill(text: str, keys: Keys, keep: bool = False) -> str | None:
    """The text with its variables; None if one has no value."""
    missing = []

    def value(found: re.Match[str]) -> str:
        values = keys.get(found[1].lower(), [])
        if len(values) != 1:
            missing.append(found[1])
            return ""
        return values[0] if keep else values[0].replace("*", STAR)

    done = re.sub(r"\$\{([^}]*)\}", value, text)
    return None if missing else done


def glob(pattern: str, text: str, arn: bool = False, colons: int = 0) -> bool:
    """A star of an ARN stays before the next of its five colons, unless it stands just before a
    colon of the pattern, or at its end."""
    if not pattern:
        return not text
    within = arn and colons < 5
    if pattern[0] == "*":
        stays = within and pattern[1:2] not in (":", "")
        reached = text.partition(":")[0] if stays else text
        return any(glob(pattern[1:], text[at:], arn, colons) for at in range(len(reached) + 1))
    if not text:
        return False
    first = "*" if pattern[0] == STAR else pattern[0]
    fits = first == text[0] if pattern[0] != "?" else not (within and text[0] == ":")
    return fits and glob(pattern[1:], text[1:], arn, colons + (first == ":"))
