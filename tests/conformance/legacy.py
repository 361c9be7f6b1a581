"""Short notation for legacy parameters."""

from typing import Any

from .support import wire


def compare(operator: str, *operands: Any) -> dict[str, Any]:
    """A condition of ScanFilter, QueryFilter, KeyConditions or Expected."""
    operand_list = {"AttributeValueList": [wire(operand) for operand in operands]}
    return {"ComparisonOperator": operator, **(operand_list if operands else {})}


def act(action: str, *value: Any) -> dict[str, Any]:
    """A member of AttributeUpdates: what to do with one attribute."""
    return {"Action": action, **({"Value": wire(value[0])} if value else {})}
