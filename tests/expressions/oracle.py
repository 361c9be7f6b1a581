"""The meaning of generated conditions and updates, written as plainly as possible.

It reads trees, not texts. It works on Python's own values as far as possible, and knows nothing
of the code under test.
"""

import base64
import copy
from decimal import Decimal, localcontext
from typing import Any


def plain(value: Any) -> Any:
    """An attribute value as a tuple of its type and a Python value that compares as it does."""
    [(kind, content)] = value.items()
    match kind:
        case "N":
            return kind, Decimal(content)
        case "B":
            return kind, base64.b64decode(content)
        case "SS" | "NS" | "BS":
            return kind, frozenset(plain({kind[0]: member}) for member in content)
        case "L":
            return kind, [plain(element) for element in content]
        case "M":
            return kind, {name: plain(member) for name, member in content.items()}
    return kind, content


def find(item: Any, path: tuple[str | int, ...]) -> Any:
    """The plain value at a path of a plain item; None if there is none."""
    kind, found = "M", item
    for part in path:
        fits = kind == ("M" if isinstance(part, str) else "L")
        if not fits or (part not in found if isinstance(part, str) else part >= len(found)):
            return None
        kind, found = found[part]
    return kind, found


def holds(tree: Any, item: Any) -> bool:
    """The meaning of a condition, in plain values."""
    operator, *operands = tree
    match operator:
        case "AND":
            return holds(operands[0], item) and holds(operands[1], item)
        case "OR":
            return holds(operands[0], item) or holds(operands[1], item)
        case "NOT":
            return not holds(operands[0], item)
    found = [operand(each, item) for each in operands]
    match operator:
        case "attribute_exists":
            return found[0] is not None
        case "attribute_not_exists":
            return found[0] is None
        case "IN":
            return found[0] is not None and found[0] in found[1:]
        case "<>":
            return None in found or found[0] != found[1]
    if None in found:
        return False
    match operator:
        case "=":
            return bool(found[0] == found[1])
        case "begins_with":
            return same_type(found, "S", "B") and found[0][1].startswith(found[1][1])
        case "contains":
            return contains(*found)
        case "BETWEEN":
            middle, low, high = found
            return in_order("<=", low, middle) and in_order("<=", middle, high)
    return in_order(operator, *found)


def contains(whole: Any, part: Any) -> bool:
    kind, content = whole
    if kind == "L":
        return part in content
    if kind in ("SS", "NS", "BS"):
        return kind[0] == part[0] and part in content
    return same_type([whole, part], "S", "B") and part[1] in content


def in_order(sign: str, one: Any, two: Any) -> bool:
    if not same_type([one, two], "S", "N", "B"):
        return False
    a, b = (value.encode() if kind == "S" else value for kind, value in (one, two))
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign])


def same_type(values: list[Any], *kinds: str) -> bool:
    return values[0][0] == values[1][0] and values[0][0] in kinds


def operand(tree: Any, item: Any) -> Any:
    match tree:
        case ("path", path):
            return find(item, path)
        case ("value", value):
            return plain(value)
    found = operand(tree[1], item)
    if found is None or found[0] in ("N", "BOOL", "NULL"):
        return None
    characters = sum(2 if c > "\uffff" else 1 for c in found[1]) if found[0] == "S" else None
    return "N", Decimal(len(found[1]) if characters is None else characters)


# ---- updates ----


class Refused(Exception):
    """The oracle's own error; the fixtures cover which error of the API it is."""


def wire(item: Any, path: tuple[str | int, ...]) -> Any:
    """The value at a path of an item in wire form; None if there is none."""
    found: Any = {"M": item}
    for part in path:
        inside = found.get("M" if isinstance(part, str) else "L")
        there = inside is not None and (
            part in inside if isinstance(part, str) else part < len(inside)
        )
        if not there:
            return None
        found = inside[part]
    return found


def result_of(section: str, target: Any, tree: Any, item: Any) -> Any:
    old = wire(item, target)
    if section == "REMOVE":
        return None
    if section == "SET":
        found = tree[1] if tree[0] == "value" else wire(item, tree[1])
        if found is None and tree[0] == "if_not_exists":
            found = tree[2][1]
        if found is None:
            raise Refused
        return found
    value = tree[1]
    if old is None:
        return value if section == "ADD" else None
    if old.keys() != value.keys():
        raise Refused
    if "N" in old:
        with localcontext(prec=60):
            return {"N": str(Decimal(old["N"]) + Decimal(value["N"]))}
    [(kind, members)] = old.items()
    changed = (
        set(members) | set(value[kind]) if section == "ADD" else set(members) - set(value[kind])
    )
    return {kind: sorted(changed)} if changed else None


def put(item: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Write one result in its place; past the end of a list, add a marker for an append."""
    parent = wire(item, path[:-1]) if len(path) > 1 else {"M": item}
    last = path[-1]
    inside = (parent or {}).get("M" if isinstance(last, str) else "L")
    if inside is None:
        raise Refused
    if isinstance(last, str):
        inside.pop(last, None)
        if value is not None:
            inside[last] = value
    elif last < len(inside):
        inside[last] = value if value is not None else {"gone": True}
    elif value is not None:
        inside.append(value)


def without_gone(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_gone(member) for key, member in value.items()}
    if isinstance(value, list):
        return [without_gone(each) for each in value if each != {"gone": True}]
    return value


def updated(actions: list[Any], item: Any) -> Any:
    """The item after the update: all results are computed first, then each is put in its place."""
    results = [result_of(section, target, tree, item) for section, target, tree in actions]
    new = copy.deepcopy(item)
    in_order = sorted(zip((a[1] for a in actions), results, strict=True), key=lambda pair: pair[0])
    for target, value in in_order:
        put(new, target, copy.deepcopy(value))
    return without_gone(new)
