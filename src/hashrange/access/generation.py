"""A generation of an access file: an account and its principals, which never change.

    account = "123456789012"                         # by default, the account of the principals

    [[principals]]
    arn = "arn:aws:iam::123456789012:user/ann"
    keys = ["AKIAANN"]
    groups = ["writers"]
    policies = ["policies/ann.json", "AmazonDynamoDBReadOnlyAccess"]
    boundary = "policies/boundary.json"
    tags = { team = "blue" }

    [groups]
    writers = ["policies/writers.json"]

Policies are JSON files beside the access file, or AWS's managed policies by name or ARN. Instead of
policies, a principal may have `access = "full"`; with neither, it may do nothing. A session of a
role may have `session_policy` and `expires`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hashrange.access import managed, policy
from hashrange.access.policy import Policy, PolicyError
from hashrange.access.principals import Principal

_ACCOUNT = re.compile(r"\d{12}", re.ASCII)
_USER = re.compile(r"arn:aws[\w-]*:iam::(\d{12}):user/[\w+=,.@/-]+", re.ASCII)
_SESSION = re.compile(r"arn:aws[\w-]*:sts::(\d{12}):assumed-role/[\w+=,.@-]+/[\w+=,.@-]+", re.ASCII)
_MEMBERS = frozenset(
    ["arn", "keys", "groups", "policies", "boundary", "session_policy", "expires", "tags", "access"]
)


class AccessError(ValueError):
    """The access file cannot be used. The message is one line that names the place of the error."""


class Access(Struct, frozen=True):
    """A generation of an access file. `by_key` has the principal of each access key.

    A principal without a key makes no requests, but its permissions can be evaluated.
    """

    account: str
    principals: tuple[Principal, ...]
    by_key: dict[str, Principal]

    def principal(self, arn: str) -> Principal:
        """The principal with this ARN. Raises AccessError if there is none."""
        for principal in self.principals:
            if principal.arn == arn:
                return principal
        raise AccessError(f"there is no principal {arn} in the access file")

    def check_keys(self, access_keys: Iterable[str]) -> None:
        """Raises AccessError if an access key that the server accepts belongs to no principal."""
        for access_key in access_keys:
            if access_key not in self.by_key:
                raise AccessError(
                    f"the access key {access_key!r} belongs to no principal of the access file"
                )


def read(document: Mapping[str, Any], text_of: Callable[[str], str]) -> Access:
    """The generation that a document describes. `text_of` reads the file of a policy by its name.

    Raises AccessError, and the errors of `text_of`.
    """
    _check_members(document, frozenset({"account", "principals", "groups"}), "the file")
    return _Reader(document, text_of).access()


class _Reader:
    def __init__(self, document: Mapping[str, Any], text_of: Callable[[str], str]) -> None:
        self._document = document
        self._text_of = text_of
        self._policies: dict[str, Policy] = {}
        self._groups: dict[str, tuple[Policy, ...]] = {}

    def access(self) -> Access:
        groups = self._document.get("groups", {})
        if not isinstance(groups, dict):
            raise AccessError("groups: must be a table with the policies of each group")
        for name, named in groups.items():
            self._groups[name] = self._listed(named, f"groups.{name}")
        entries = self._document.get("principals", [])
        if not isinstance(entries, list) or not entries:
            raise AccessError("principals: must be an array of tables, [[principals]]")
        by_key: dict[str, Principal] = {}
        principals: dict[str, Principal] = {}
        for number, each in enumerate(entries, 1):
            place = f"principals[{number}]"
            if not isinstance(each, dict):
                raise AccessError(f"{place}: must be a table")
            principal = self._principal(each, place)
            if principal.arn in principals:
                raise AccessError(f"{place}: {principal.arn} is declared twice")
            principals[principal.arn] = principal
            for key in _texts(each.get("keys", []), f"{place}.keys"):
                if key in by_key:
                    raise AccessError(f"{place}.keys: {key} belongs to an earlier principal")
                by_key[key] = principal
        account = self._account({each.account for each in principals.values()})
        return Access(account, tuple(principals.values()), by_key)

    def _account(self, accounts: set[str]) -> str:
        account = self._document.get("account", min(accounts))
        if not isinstance(account, str) or not _ACCOUNT.fullmatch(account):
            raise AccessError("account: must be a string of twelve digits")
        strangers = sorted(accounts - {account})
        if strangers:
            raise AccessError(
                f"account: a principal belongs to account {strangers[0]}, not to {account}"
            )
        return account

    def _principal(self, entry: dict[str, Any], place: str) -> Principal:
        _check_members(entry, _MEMBERS, place)
        arn = entry.get("arn")
        if not isinstance(arn, str) or not (_USER.fullmatch(arn) or _SESSION.fullmatch(arn)):
            raise AccessError(
                f"{place}.arn: must be the ARN of a user, arn:aws:iam::ACCOUNT:user/NAME, or of a "
                "role's session, arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION"
            )
        if entry.get("access", "full") != "full":
            raise AccessError(f'{place}.access: can only be "full"')
        full = "access" in entry
        if full and len(entry.keys() & {"policies", "groups", "boundary", "session_policy"}):
            raise AccessError(f'{place}: access = "full" cannot be combined with policies')
        if "session_policy" in entry and not _SESSION.fullmatch(arn):
            raise AccessError(f"{place}.session_policy: only a session of a role can have one")
        return Principal(
            arn,
            (
                *self._listed(entry.get("policies", []), f"{place}.policies"),
                *self._of(entry, place),
            ),
            self._one(entry, "boundary", place),
            tuple(filter(None, [self._one(entry, "session_policy", place)])),
            _tags(entry.get("tags", {}), f"{place}.tags"),
            _expiry(entry.get("expires"), f"{place}.expires"),
            full,
        )

    def _of(self, entry: dict[str, Any], place: str) -> Iterable[Policy]:
        for name in _texts(entry.get("groups", []), f"{place}.groups"):
            if name not in self._groups:
                raise AccessError(f"{place}.groups: there is no group {name!r}")
            yield from self._groups[name]

    def _one(self, entry: dict[str, Any], member: str, place: str) -> Policy | None:
        if member not in entry:
            return None
        [policy] = self._listed([entry[member]], f"{place}.{member}")
        return policy

    def _listed(self, names: Any, place: str) -> tuple[Policy, ...]:
        return tuple(self._policy(name, place) for name in _texts(names, place))

    def _policy(self, name: str, place: str) -> Policy:
        if name not in self._policies:
            short = name.removeprefix(managed.ARN_PREFIX)
            try:
                if short in managed.NAMES:
                    text = managed.document(short)
                elif name.endswith(".json"):
                    text = self._text_of(name)
                else:
                    raise AccessError(
                        f"{place}: {name!r} is neither a file that ends with .json nor one of the "
                        f"managed policies {', '.join(managed.NAMES)}"
                    )
                self._policies[name] = policy.parse(text, name)
            except PolicyError as fault:
                raise AccessError(f"{name}: {fault}") from None
        return self._policies[name]


def _check_members(members: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    unknown = sorted(members.keys() - known)
    if unknown:
        raise AccessError(f"{place}: unknown member {unknown[0]!r}")


def _texts(texts: Any, place: str) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(each, str) and each for each in texts):
        raise AccessError(f"{place}: must be an array of strings")
    return texts


def _tags(tags: Any, place: str) -> dict[str, str]:
    if not isinstance(tags, dict) or not all(isinstance(each, str) for each in tags.values()):
        raise AccessError(f"{place}: must be a table of strings")
    return tags


def _expiry(expiry: Any, place: str) -> float | None:
    if expiry is None:
        return None
    if not isinstance(expiry, datetime):
        raise AccessError(f"{place}: must be a date and time such as 2026-12-31T00:00:00Z")
    return (expiry if expiry.tzinfo else expiry.replace(tzinfo=UTC)).timestamp()
