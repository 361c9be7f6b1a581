"""An IAM policy that allows the requests of a model's patterns and writes, and nothing else.

With a tenant, a condition of each statement (`dynamodb:LeadingKeys`) allows only partition keys
that contain the caller's tenant. A field of the items holds their tenant. A caller's tenant is the
value of the tag with the field's name on the caller's role or user.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hashrange.design.declare.entity import Entity
from hashrange.design.declare.keys.templates import Template
from hashrange.design.declare.schema import EntityKey, KeyColumn, UniqueTemplate
from hashrange.design.errors import suggest
from hashrange.design.execute.writes.unique_markers import MARKER_TYPE
from hashrange.design.plan.plans import Plan
from hashrange.design.source.exported import ExchangeError, Exported
from hashrange.design.table import Table

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "ConditionCheckItem")
LEADING_KEYS = "dynamodb:LeadingKeys"
Statement = dict[str, Any]


def export(tables: Sequence[Table], tenant: str | None = None) -> Exported:
    """A policy for the tables; `tenant` is the field that holds an item's tenant.

    A pattern that reads several tenants is left out, with a warning. Raises ExchangeError if no
    entity has the tenant's field in its partition key.
    """
    policies = [_Policy(table, tenant) for table in tables]
    statements = [statement for policy in policies for statement in policy.statements()]
    if not statements:
        fields = {f for t in tables for e in t.model.entities for f in e.key_fields}
        raise ExchangeError(
            f"no entity has {tenant!r} in its partition key{suggest(str(tenant), fields)}"
        )
    document = {"Version": "2012-10-17", "Statement": statements}
    warnings = [line for policy in policies for line in policy.warnings]
    return Exported(json.dumps(document, indent=2, ensure_ascii=False) + "\n", tuple(warnings))


class _Policy:
    def __init__(self, table: Table, tenant: str | None) -> None:
        self.table = table
        self.tenant = tenant
        self.warnings: list[str] = []
        self.name = re.sub(r"[^A-Za-z0-9]", "", table.name)

    def statements(self) -> Iterator[Statement]:
        wanted: dict[tuple[str, str | None], dict[str, None]] = {}
        for plan in self.table.plans.values():
            if not isinstance(plan, Plan):
                self.warnings.append(
                    f"{plan.pattern}: no key or index serves it, so it is left out"
                )
                continue
            keys = self._keys_of(plan)
            if keys is None:
                continue
            wanted.setdefault((plan.operation, plan.source.name), {}).update(dict.fromkeys(keys))
            if plan.followed is not None:
                more = self._entity_keys([plan.followed])
                wanted.setdefault(("BatchGetItem", None), {}).update(dict.fromkeys(more))
        for (operation, index), leading in wanted.items():
            yield self._statement([operation], index, [*leading])
        yield from self._writes()

    def _writes(self) -> Iterator[Statement]:
        """A statement that allows writes, and the reads and condition checks of writes."""
        entities = self.table.model.entities
        kept = [e for e in entities if self.tenant is None or self._own(e.key)]
        for entity in entities:
            if entity not in kept:
                self.warnings.append(
                    f"{entity}: {self.tenant} is not in its partition key, so the policy does not "
                    "allow writes of its items"
                )
        leading = self._entity_keys(kept)
        for entity in kept:
            leading += [
                text for unique in entity.unique for text in self._marker_texts(entity, unique)
            ]
        if kept:
            actions = ["GetItem", "BatchGetItem", *WRITES]
            yield self._statement(actions, None, [*dict.fromkeys(leading)], "Write")

    def _statement(
        self, operations: Sequence[str], index: str | None, leading: list[str], name: str = ""
    ) -> Statement:
        resource = f"arn:aws:dynamodb:*:*:table/{self.table.name}"
        named = re.sub(r"[^A-Za-z0-9]", "", index or "")
        statement: Statement = {
            "Sid": f"{self.name}{name or operations[0]}{named}",
            "Effect": "Allow",
            "Action": [f"dynamodb:{operation}" for operation in operations],
            "Resource": resource if index is None else f"{resource}/index/{index}",
        }
        if self.tenant is not None:
            statement["Condition"] = {"ForAllValues:StringLike": {LEADING_KEYS: leading}}
        return statement

    # ---- the partition keys of a tenant ----

    def _keys_of(self, plan: Plan) -> list[str] | None:
        """The partition keys that a pattern reads; None if it also reads other tenants' items."""
        if self.tenant is None:
            return []
        if plan.search is not None:
            self.warnings.append(
                f"{plan.pattern}: a policy cannot restrict a search of {plan.source} to one "
                f"{self.tenant}, so it is left out"
            )
            return None
        shared = plan.operation == "Scan" or plan.pattern.by_type is not None
        if shared or not all(self._own(route.key) for route in plan.routes):
            where = "the whole table" if plan.operation == "Scan" else str(plan.source)
            self.warnings.append(
                f"{plan.pattern}: it reads items of several tenants in {where}, so it is left out"
            )
            return None
        return [text for route in plan.routes for text in self._hash_texts(route.key.hash)]

    def _own(self, key: EntityKey) -> bool:
        return any(self.tenant in column.template.fields for column in key.hash[:1])

    def _entity_keys(self, entities: Sequence[Entity]) -> list[str]:
        if self.tenant is None:
            return []
        return [text for entity in entities for text in self._hash_texts(entity.key.hash)]

    def _hash_texts(self, columns: Sequence[KeyColumn]) -> list[str]:
        return self._texts(str(columns[0].attribute), columns[0].template)

    def _marker_texts(self, entity: Entity, unique: UniqueTemplate) -> list[str]:
        if self.tenant is None:
            return []
        where, before = f"{entity}.{unique.name}", f"{MARKER_TYPE}#{unique.namespace}#"
        return self._texts(where, unique.template, _literal(before))

    def _texts(self, where: str, template: Template, before: str = "") -> list[str]:
        """The template as a wildcard pattern of a policy, after the text `before`.

        The tenant's field becomes the caller's tag, and every other field a wildcard. The list is
        empty if the template does not have the tenant's field. Warnings begin with `where`.
        """
        text, seen = before, False
        for part in template.parts:
            if isinstance(part, str):
                text += _literal(part)
            elif part.field == self.tenant and not part.shards:
                if "*" in text.removeprefix(before):
                    self.warnings.append(
                        f"{where}: in {template}, a field stands before the tenant, and the policy "
                        "has a wildcard for this field. If the field's value contains the text of "
                        "another tenant, that tenant can reach the item"
                    )
                text += f"${{aws:PrincipalTag/{self.tenant}}}"
                seen = True
            else:
                text += "*"
        if not seen:
            self.warnings.append(
                f"{where}: {template} does not belong to one tenant, so it is left out"
            )
        return [re.sub(r"\*+", "*", text)] if seen else []


def _literal(text: str) -> str:
    """The text, escaped so that it has no wildcards or variables of a policy."""
    return re.sub(r"[*?$]", lambda match: f"${{{match[0]}}}", text)
