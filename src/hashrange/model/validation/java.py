"""How the service's messages name types and print values: the way Java does.

Source: messages observed on the service, e.g. `[KeySchemaElement(attributeName=pk, ...)]`.
"""

from typing import Any

import msgspec

from hashrange.model.validation import shapes

_PACKAGE = "com.amazonaws.dynamodb.v20120810."
_CLASSES = {
    "string": "java.lang.String",
    "blob": "java.nio.ByteBuffer",
    "boolean": "java.lang.Boolean",
    "integer": "java.lang.Integer",
    "long": "java.lang.Long",
    "double": "java.lang.Double",
    "timestamp": "java.util.Date",
}
_PRINTED_MEMBERS = {
    "AttributeValue": (
        *("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS"),
        *("INTSET", "DECIMALSET", "DOUBLESET", "M", "L", "NULL", "BOOL"),
    ),
    "PutRequest": ("Item", "WorkloadProfileName"),
}
"""Where the service's own class has members that the model does not tell of."""
_PRINTED_AS_JSON = {"BatchGetRequestMap"}


def class_name(name: str) -> str:
    """A shape's type with its parameters, as in `java.util.List<java.lang.String>`."""
    shape = shapes.of(name)
    if shape.kind == "list":
        return f"java.util.List<{class_name(shape.member)}>"
    if shape.kind == "map":
        return f"java.util.Map<{class_name(shape.key)}, {class_name(shape.value)}>"
    return _CLASSES.get(shape.kind, _PACKAGE + name)


def simple_name(name: str) -> str:
    """The last part of a shape's class name: `String`, `Integer`."""
    return class_name(name).rpartition(".")[2]


def member_name(name: str) -> str:
    """A member of the model as the service spells it: TableName -> tableName, SS -> sS."""
    return name[0].lower() + name[1:]


def printed(content: Any, name: str) -> str:
    """A value of this shape, as `toString` prints it."""
    shape = shapes.of(name)
    if content is None:
        return "null"
    if name in _PRINTED_AS_JSON:
        return msgspec.json.encode(content).decode()
    if shape.kind == "list":
        return f"[{', '.join(printed(element, shape.member) for element in content)}]"
    if shape.kind == "map":
        pairs = (f"{key}={printed(value, shape.value)}" for key, value in content.items())
        return f"{{{', '.join(pairs)}}}"
    if shape.kind == "structure":
        members = (
            f"{member_name(member)}={_printed_member(content, member, shape)}"
            for member in _PRINTED_MEMBERS.get(name, tuple(shape.members))
        )
        return f"{name}({', '.join(members)})"
    if shape.kind == "boolean":
        return str(content).lower()
    return str(content)


def _printed_member(content: dict[str, Any], member: str, shape: shapes.Shape) -> str:
    return printed(content[member], shape.members[member]) if member in content else "null"
