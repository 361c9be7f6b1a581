"""Items, conditions and updates made up by hypothesis, and their texts.

A condition is (operator, operands...) over ("path", parts), ("value", value) and ("size", path);
an update is a list of (section, target, operand).
"""

import base64
import copy
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from hashrange.model.values import Item

# ---- items ----

NAMES = st.sampled_from(["a", "b", "c"])
TEXT = st.text(st.sampled_from("ab\uffff😀"), max_size=3)
NUMBER = st.sampled_from(["0", "-0", "1", "1.0", "10e-1", "-2", "2.50", "1E+20", "-1e-20"])
BYTES = st.binary(max_size=2).map(lambda content: base64.b64encode(content).decode())


def _set_of(kind: str, members: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    distinct: Any = Decimal if kind == "NS" else str
    return st.lists(members, min_size=1, max_size=3, unique_by=distinct).map(lambda m: {kind: m})


SCALAR: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda content: {"S": content}, TEXT),
    st.builds(lambda content: {"N": content}, NUMBER),
    st.builds(lambda content: {"B": content}, BYTES),
)
LEAF: st.SearchStrategy[Any] = st.one_of(
    SCALAR,
    st.builds(lambda content: {"BOOL": content}, st.booleans()),
    st.just({"NULL": True}),
    _set_of("SS", TEXT),
    _set_of("NS", NUMBER),
    _set_of("BS", BYTES),
)
VALUE: st.SearchStrategy[Any] = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda content: {"L": content}),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda content: {"M": content}),
    ),
    max_leaves=6,
).map(copy.deepcopy)
ITEM = st.dictionaries(NAMES, VALUE, max_size=3)
PATH = st.tuples(
    NAMES, st.lists(st.one_of(NAMES, st.integers(min_value=0, max_value=2)), max_size=2)
).map(lambda path: (path[0], *path[1]))


# ---- conditions ----

OPERAND = st.one_of(
    PATH.map(lambda path: ("path", path)),
    VALUE.map(lambda value: ("value", value)),
    PATH.map(lambda path: ("size", ("path", path))),
)


def _operation(operator: str, *operands: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(operator), *operands)


TEST: st.SearchStrategy[Any] = st.one_of(
    *[_operation(sign, OPERAND, OPERAND) for sign in ("=", "<>", "<", "<=", ">", ">=")],
    _operation("BETWEEN", OPERAND, OPERAND, OPERAND),
    _operation("IN", OPERAND, OPERAND, OPERAND),
    _operation("attribute_exists", PATH.map(lambda path: ("path", path))),
    _operation("attribute_not_exists", PATH.map(lambda path: ("path", path))),
    _operation("begins_with", OPERAND, OPERAND),
    _operation("contains", OPERAND, OPERAND),
)
CONDITION: st.SearchStrategy[Any] = st.recursive(
    TEST,
    lambda inner: st.one_of(
        _operation("AND", inner, inner), _operation("OR", inner, inner), _operation("NOT", inner)
    ),
    max_leaves=5,
)


# ---- updates ----

ASSIGNED = st.one_of(
    PATH.map(lambda path: ("path", path)),
    VALUE.map(lambda value: ("value", value)),
    st.tuples(st.just("if_not_exists"), PATH, VALUE.map(lambda value: ("value", value))),
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("SET"), PATH, ASSIGNED),
        st.tuples(st.just("REMOVE"), PATH, st.none()),
        st.tuples(st.just("ADD"), PATH, st.builds(lambda n: ("value", {"N": n}), NUMBER)),
        st.tuples(
            st.sampled_from(["ADD", "DELETE"]),
            PATH,
            _set_of("SS", TEXT).map(lambda value: ("value", value)),
        ),
    ),
    min_size=1,
    max_size=4,
)


# ---- texts ----


def path_text(path: tuple[str | int, ...]) -> str:
    rest = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in path[1:])
    return f"{path[0]}{rest}"


def condition_text(tree: Any, values: Item) -> str:
    """The text of a tree, with as few parentheses as possible; adds its values."""
    operator, *operands = tree
    if operator == "path":
        return path_text(operands[0])
    if operator == "value":
        values[f":v{len(values)}"] = copy.deepcopy(operands[0])
        return f":v{len(values) - 1}"
    texts = [condition_text(operand, values) for operand in operands]
    if operator in ("AND", "OR", "NOT"):
        weaker = {"NOT": ("AND", "OR"), "AND": ("OR",), "OR": ()}[operator]
        for i, operand in enumerate(operands):
            if operand[0] in weaker:
                texts[i] = f"({texts[i]})"
        return f"NOT {texts[0]}" if operator == "NOT" else f" {operator} ".join(texts)
    if operator == "BETWEEN":
        return "{} BETWEEN {} AND {}".format(*texts)
    if operator == "IN":
        return f"{texts[0]} IN ({', '.join(texts[1:])})"
    if operator.isidentifier():
        return f"{operator}({', '.join(texts)})"
    return f"{texts[0]} {operator} {texts[1]}"


def update_text(actions: list[Any], values: Item) -> str:
    def operand_text(tree: Any) -> str:
        if tree[0] == "if_not_exists":
            return f"if_not_exists({path_text(tree[1])}, {operand_text(tree[2])})"
        return condition_text(tree, values)

    sections: dict[str, list[str]] = {}
    for section, target, tree in actions:
        text = path_text(target)
        if tree is not None:
            text += (" = " if section == "SET" else " ") + operand_text(tree)
        sections.setdefault(section, []).append(text)
    return " ".join(f"{section} {', '.join(texts)}" for section, texts in sections.items())
