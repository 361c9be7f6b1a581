"""Policies: JSON documents with statements. A policy is checked completely when it is read.

Source: IAM user guide, "IAM JSON policy elements reference" and "Grammar of the IAM JSON policy
language".
"""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hashrange.access import conditions, patterns
from hashrange.access.actions import ACTIONS, SERVICE, check_key
from hashrange.access.conditions import Condition, ConditionError
from hashrange.access.patterns import NOTHING, Context, Known, Pattern, PatternError

CURRENT, FIRST = "2012-10-17", "2008-10-17"
"""The versions of the policy language. Only the current version has policy variables."""


class PolicyError(Exception):
    """The document is not a valid policy. The message begins with the place of the error."""


class Statement(Struct, frozen=True):
    """A statement of a policy.

    `place` is its number and Sid, for messages. `actions` are in lower case. `principals` are those
    of a resource's policy: ARNs, account numbers and `*`.
    """

    place: str
    allows: bool
    actions: tuple[Pattern, ...]
    resources: tuple[Pattern, ...]
    conditions: tuple[Condition, ...] = ()
    but_actions: bool = False
    but_resources: bool = False
    principals: tuple[str, ...] = ()
    but_principals: bool = False

    def names_action(self, action: str) -> bool:
        """Whether the statement is about this action, in lower case, such as `dynamodb:getitem`."""
        named = any(each.matches(action, NOTHING) for each in self.actions)
        return named is not self.but_actions

    def bound(self, known: Context) -> "Statement":
        """The same statement, with the `known` values in place of policy variables."""
        resources = tuple(each.bound(known) for each in self.resources)
        return replace(
            self,
            resources=resources,
            conditions=tuple(each.bound(known) for each in self.conditions),
        )

    @property
    def has_variable_resources(self) -> bool:
        return any(each.varies for each in self.resources)

    def names_resource(self, resource: str, context: Context) -> Known:
        """Whether the statement is about this resource; None if a variable has no value."""
        named = patterns.any_of(each.matches(resource, context) for each in self.resources)
        return None if named is None else named is not self.but_resources

    def applies_to(self, resource: str, context: Context) -> bool:
        """Whether the statement applies to this resource.

        If the answer depends on a variable without a value, a Deny applies, and an Allow does not.
        """
        named = self.names_resource(resource, context)
        return not self.allows if named is None else named


class Policy(Struct, frozen=True):
    """A policy. `name` says where it comes from, and `text` is its JSON."""

    name: str
    statements: tuple[Statement, ...]
    text: str = ""


def parse(text: str, name: str, of_resource: bool = False) -> Policy:
    """The policy in a JSON text. Only a policy of a resource has principals. Raises PolicyError."""
    return Policy(name, tuple(_Reader(_decoded(text), of_resource).statements()), text)


def _decoded(text: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            raise PolicyError("an object has the same member twice")
        return members

    import json  # imported late: a server without policies does not need it

    try:
        document = json.loads(text, object_pairs_hook=once)
        json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as fault:
        raise PolicyError(f"line {fault.lineno}: it is not JSON: {fault.msg}") from None
    except RecursionError:
        raise PolicyError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise PolicyError("it has a lone surrogate, which is half of a character") from None
    except ValueError:
        raise PolicyError("it has a number with too many digits") from None
    if not isinstance(document, dict):
        raise PolicyError("it is not an object with a Statement")
    return document


_MEMBERS = {"Version", "Id", "Statement"}
_PAIRS = (("Action", "NotAction"), ("Resource", "NotResource"), ("Principal", "NotPrincipal"))
_STATEMENT = {"Sid", "Effect", "Condition", *(name for pair in _PAIRS for name in pair)}


class _Reader:
    def __init__(self, document: dict[str, Any], of_resource: bool) -> None:
        self._document = document
        self._of_resource = of_resource
        _check_members(document, _MEMBERS, "the policy")
        version = document.get("Version", FIRST)
        if version not in (CURRENT, FIRST):
            raise PolicyError(f"Version: {version!r} is neither {CURRENT} nor {FIRST}")
        if not isinstance(document.get("Id", ""), str):
            raise PolicyError("Id: must be a string")
        self._variables = version == CURRENT

    def statements(self) -> Iterable[Statement]:
        statements = self._document.get("Statement")
        listed = statements if isinstance(statements, list) else [statements]
        if not listed or not all(isinstance(each, dict) for each in listed):
            raise PolicyError("Statement: must be an object or a list of objects")
        seen: set[str] = set()
        for number, each in enumerate(listed):
            sid = each.get("Sid", "")
            place = f"Statement[{number}]" + (f" ({sid})" if sid else "")
            if not isinstance(sid, str) or (sid and sid in seen):
                raise PolicyError(f"{place}: Sid must be a string that no other statement has")
            seen.add(sid)
            yield self._statement(each, place)

    def _statement(self, statement: dict[str, Any], place: str) -> Statement:
        _check_members(statement, _STATEMENT, place)
        effect = statement.get("Effect")
        if effect not in ("Allow", "Deny"):
            raise PolicyError(f"{place}.Effect: must be Allow or Deny")
        actions, but_actions = _either(statement, "Action", place)
        resources, but_resources = _either(statement, "Resource", place)
        principals, but_principals = self._principals(statement, place)
        try:
            parsed = conditions.parse(statement.get("Condition", {}), check_key, self._variables)
        except ConditionError as fault:
            where = f"{place}.Condition" + (f".{fault.place}" if fault.place else "")
            raise PolicyError(f"{where}: {fault}") from None
        return Statement(
            place,
            effect == "Allow",
            tuple(_read(_action, each, f"{place}.Action") for each in actions),
            tuple(_read(self._resource, each, f"{place}.Resource") for each in resources),
            parsed,
            but_actions,
            but_resources,
            principals,
            but_principals,
        )

    def _resource(self, text: str) -> Pattern:
        if text != "*" and text.count(":") < patterns.COLONS and not text.startswith("arn:"):
            raise ValueError(f"{text!r} is not an ARN")
        return patterns.parse(text, self._variables, arn=text != "*")

    def _principals(self, statement: dict[str, Any], place: str) -> tuple[tuple[str, ...], bool]:
        if not self._of_resource:
            if "Principal" in statement or "NotPrincipal" in statement:
                raise PolicyError(f"{place}.Principal: an identity-based policy cannot have one")
            return (), False
        name = "Principal" if "Principal" in statement else "NotPrincipal"
        if name not in statement or len({"Principal", "NotPrincipal"} & statement.keys()) > 1:
            raise PolicyError(f"{place}: must have either Principal or NotPrincipal")
        element = statement[name]
        if element == "*":
            return ("*",), name == "NotPrincipal"
        if not isinstance(element, dict) or not element:
            raise PolicyError(f"{place}.{name}: must be * or an object such as " + '{"AWS": "…"}')
        principals = []
        for kind, named in element.items():
            if kind not in ("AWS", "Service", "Federated", "CanonicalUser"):
                raise PolicyError(f"{place}.{name}: unknown kind of principal {kind!r}")
            texts = _texts(named, f"{place}.{name}.{kind}")
            principals += texts if kind == "AWS" else [f"{kind}:{text}" for text in texts]
        return tuple(principals), name == "NotPrincipal"


def _check_members(members: dict[str, Any], known: set[str], place: str) -> None:
    unknown = sorted(members.keys() - known)
    if unknown:
        raise PolicyError(f"{place}: unknown member {unknown[0]!r}")


def _either(statement: dict[str, Any], name: str, place: str) -> tuple[list[str], bool]:
    """The texts of an element such as Action, or of its opposite, such as NotAction.

    Also returns whether the texts are those of the opposite.
    """
    present = [each for each in (name, f"Not{name}") if each in statement]
    if len(present) != 1:
        raise PolicyError(f"{place}: must have either {name} or Not{name}")
    return _texts(statement[present[0]], f"{place}.{present[0]}"), present[0] != name


def _texts(value: Any, place: str) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(each, str) and each for each in listed):
        raise PolicyError(f"{place}: must be a string or a list of strings")
    return listed


def _read(read: Callable[[str], Pattern], text: str, place: str) -> Pattern:
    try:
        return read(text)
    except (ValueError, PatternError) as fault:
        raise PolicyError(f"{place}: {fault}") from None


def _action(text: str) -> Pattern:
    """The pattern of an action, in lower case. Raises ValueError.

    Actions of other services are accepted. Their patterns match no action of DynamoDB.
    """
    service, colon, name = text.partition(":")
    if text != "*" and (not colon or not name):
        raise ValueError(f"{text!r} is not an action, such as dynamodb:GetItem")
    ours = service.lower() == SERVICE
    if ours and not any(_named(each, name) for each in ACTIONS):
        raise ValueError(f"there is no action {text!r}")
    return patterns.parse(text.lower(), variables=False)


def _named(action: str, wildcards: str) -> bool:
    pattern = wildcards.lower().replace("[", "[[]")
    return fnmatchcase(action.lower(), pattern)
