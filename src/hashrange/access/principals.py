"""Principals: the users and sessions that sign requests, with the policies that limit them."""

from collections.abc import Hashable, Mapping
from typing import Any

from hashrange.access.policy import Policy

REMEMBERED_MAX = 4096


class Principal:
    """A user or a session of a role. `policies` are its own policies and those of its groups.

    The `boundary` and the `session` policies, if there are any, must also allow a request.
    `expires_at` is in epoch seconds. For a principal with `full_access`, no policy is evaluated.
    Principals never change: a new generation of the access file has new principals.
    """

    def __init__(
        self,
        arn: str,
        policies: tuple[Policy, ...] = (),
        boundary: Policy | None = None,
        session: tuple[Policy, ...] = (),
        tags: Mapping[str, str] | None = None,
        expires_at: float | None = None,
        full_access: bool = False,
    ) -> None:
        self.arn = arn
        self.policies = policies
        self.boundary = boundary
        self.session = session
        self.tags = dict(tags or {})
        self.expires_at = expires_at
        self.full_access = full_access
        self.remembered: dict[Any, Any] = {}
        """Cached results, at most `REMEMBERED_MAX`. Each depends only on the principal and on its
        key in this dict."""

    def remember(self, asked: Hashable, answer: Any) -> None:
        if len(self.remembered) >= REMEMBERED_MAX:
            self.remembered.clear()
        self.remembered[asked] = answer

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the principal without the remembered results, for use in another process."""
        return type(self), (
            *(self.arn, self.policies, self.boundary, self.session),
            *(self.tags, self.expires_at, self.full_access),
        )

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def is_session(self) -> bool:
        """Whether this is a session of a role: `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION`."""
        return ":assumed-role/" in self.arn

    @property
    def role_arn(self) -> str:
        """The value of `aws:PrincipalArn`: the ARN, or for a session the ARN of its role."""
        if not self.is_session:
            return self.arn
        partition, role = self.arn.split(":")[1], self.arn.split("/")[1]
        return f"arn:{partition}:iam::{self.account}:role/{role}"

    def keys(self) -> dict[str, tuple[str, ...]]:
        """The condition keys that describe the principal, by their names in lower case."""
        keys: dict[str, tuple[str, ...]] = {
            "aws:principalarn": (self.role_arn,),
            "aws:principalaccount": (self.account,),
            "aws:principaltype": ("AssumedRole" if self.is_session else "User",),
            "aws:principalisawsservice": ("false",),
            "aws:viaawsservice": ("false",),
        }
        name = self.arn.rpartition("/")[2]
        if self.is_session:
            keys["aws:userid"] = (f"{self.arn.split('/')[1]}:{name}",)
        else:
            keys["aws:username"] = (name,)
            keys["aws:userid"] = (name,)
        for key, value in self.tags.items():
            tag = f"aws:principaltag/{key}".lower()
            keys[tag] = (*keys.get(tag, ()), value)
        return keys
