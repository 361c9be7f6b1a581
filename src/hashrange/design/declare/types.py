"""Python types and how they are stored.

    str, UUID, date, time, Enum of text, Literal    S   ISO 8601; datetimes in UTC, microseconds
    int, Decimal, IntEnum, st.TTL                   N   exact; st.TTL as epoch seconds
    bytes                                           B
    bool                                            BOOL
    set[str], set[int], set[Decimal], set[bytes]    SS, NS, BS; an empty set is absent
    list, tuple                                     L
    dict[str, ...], nested models                   M
    st.Vector(768)                                  L   of numbers in 32 bits
    T | None                                        None is absent

`float` is refused, because DynamoDB's numbers are decimal, and no float is exactly 0.1.
"""

import base64
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from annotated_types import MaxLen
from pydantic import AnyUrl, BaseModel, SecretBytes, SecretStr, StringConstraints
from pydantic.fields import FieldInfo

from hashrange.design.declare.markers import Counts, Delimited, Expires, Ref
from hashrange.design.declare.vectors import Vector, stored
from hashrange.design.errors import BadValue, DeclarationError
from hashrange.model import numbers
from hashrange.model.errors import ValidationException
from hashrange.model.values import AttributeValue, Item

Encode = Callable[[Any], AttributeValue]
Decode = Callable[[AttributeValue], Any]


@dataclass(frozen=True, slots=True)
class FieldType:
    """How one field is stored. `tag` is the DynamoDB type, or "" if that depends on the value."""

    python: Any
    tag: str
    optional: bool
    encode: Encode
    decode: Decode
    length_max: int | None = None
    choices: tuple[str, ...] = ()
    delimited: bool = False
    counts: bool = False
    expires: bool = False
    bounds: tuple[tuple[str, Decimal], ...] = ()
    """The declared bounds of a number. Each is (">=", ">", "<=" or "<", number)."""
    refs: tuple[Ref, ...] = ()
    vector: Vector | None = None


def field_type(info: FieldInfo, at: object) -> FieldType:
    """How a model's field is stored. Raises DeclarationError if its type cannot be stored."""
    metadata = [*info.metadata]
    core, optional = core_type(info.annotation, metadata)
    expires = any(isinstance(m, Expires) for m in metadata)
    vector = next((m for m in metadata if isinstance(m, Vector)), None)
    if vector is None:
        _check(core, at)
    tag = "N" if expires else tag_of(core)
    return FieldType(
        python=core,
        tag=tag,
        optional=optional,
        encode=_epoch_seconds if expires else stored if vector else _ENCODERS.get(core, encode),
        decode=_DECODERS.get(tag, decode),
        length_max=_length_max(metadata),
        choices=_choices(core),
        delimited=any(isinstance(m, Delimited) for m in metadata),
        counts=any(isinstance(m, Counts) for m in metadata),
        expires=expires,
        refs=tuple(m for m in metadata if isinstance(m, Ref)),
        bounds=bounds_of(metadata) if tag == "N" and not expires else (),
        vector=vector,
    )


# ---- values ----


def encode(value: Any) -> AttributeValue:
    """The wire form of any value. Raises BadValue if it cannot be stored."""
    kind = type(value)
    exact = _ENCODERS.get(kind)
    if exact is not None:
        return exact(value)
    for base, encoder in _BASES:
        if isinstance(value, base):
            return encoder(value)
    raise BadValue(f"it cannot be stored: DynamoDB has no type for {kind.__name__}")


def decode(value: AttributeValue) -> Any:
    """A Python value for a stored value, for pydantic to validate."""
    [(tag, content)] = value.items()
    return _CONTENTS[tag](content)


def _text(value: Any) -> AttributeValue:
    if not value.isascii():
        check_text(value)
    return {"S": value}


def check_text(value: str) -> None:
    """Raise BadValue for a text that UTF-8 cannot encode."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue("it has a lone surrogate, which UTF-8 cannot encode") from None


def _integer(value: int) -> AttributeValue:
    if not -(10**38) < value < 10**38:
        raise BadValue("it has more than the 38 digits of a DynamoDB number")
    return {"N": str(int(value))}


def number_text(value: Decimal | int) -> str:
    """The canonical text of a number. Raises BadValue."""
    try:
        return numbers.canonical(str(value))
    except ValidationException as error:
        raise BadValue(f"it cannot be stored: {error.message}") from None


def utc_text(value: datetime) -> str:
    """ISO 8601 in UTC, always with microseconds, so that the texts sort in the order of time."""
    return in_utc(value).replace(tzinfo=None).isoformat("T", "microseconds") + "Z"


def in_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise BadValue("it has no time zone: use datetime.now(UTC) or tzinfo=UTC")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise BadValue("its year in UTC is not from 1 to 9999") from None


def time_text(value: time) -> str:
    if value.tzinfo is not None:
        raise BadValue("a time of day cannot have a time zone, because it is stored without one")
    return value.isoformat("microseconds")


def _epoch_seconds(value: datetime) -> AttributeValue:
    return {"N": str(int(in_utc(value).timestamp()))}


def _binary(value: bytes) -> AttributeValue:
    return {"B": base64.b64encode(value).decode()}


def _set(value: set[Any] | frozenset[Any]) -> AttributeValue:
    members = [encode(member) for member in value]
    tags = {tag for member in members for tag in member}
    if len(tags) != 1 or not tags <= {"S", "N", "B"}:
        raise BadValue("a set needs members that are all texts, all numbers or all bytes")
    [tag] = tags
    return {f"{tag}S": sorted(member[tag] for member in members)}


def _map(value: Mapping[Any, Any]) -> AttributeValue:
    members = {}
    for name, member in value.items():
        if not isinstance(name, str):
            raise BadValue(f"the names in a map must be texts, not {name!r}")
        if not name:
            raise BadValue("the names in a map must not be empty")
        members[name] = encode(member)
    return {"M": members}


def _model(value: BaseModel) -> AttributeValue:
    members = {}
    for name, info in type(value).model_fields.items():
        content = getattr(value, name)
        if content is not None or info.default is not None:  # else absence means None
            members[info.serialization_alias or info.alias or name] = encode(content)
    return {"M": members}


_ENCODERS: dict[Any, Encode] = {
    str: _text,
    bool: lambda value: {"BOOL": value},
    int: _integer,
    Decimal: lambda value: {"N": number_text(value)},
    bytes: _binary,
    type(None): lambda value: {"NULL": True},
    datetime: lambda value: {"S": utc_text(value)},
    date: lambda value: {"S": value.isoformat()},
    time: lambda value: {"S": time_text(value)},
    UUID: lambda value: {"S": str(value)},
}
_BASES: tuple[tuple[Any, Encode], ...] = (
    (Enum, lambda value: encode(value.value)),
    (BaseModel, _model),
    (Mapping, _map),
    ((set, frozenset), _set),
    ((list, tuple), lambda value: {"L": [encode(member) for member in value]}),
    ((SecretStr, SecretBytes), lambda value: encode(value.get_secret_value())),
    (AnyUrl, lambda value: {"S": str(value)}),
    (str, lambda value: _text(str(value))),
    (int, _integer),
)


def _bytes(content: str | bytes) -> bytes:
    """The bytes of a stored binary value: base64 text in wire form, or bytes from boto3."""
    return base64.b64decode(content) if isinstance(content, str) else bytes(content)


def _number(content: str) -> int | Decimal:
    value = Decimal(content)
    return int(value) if value == value.to_integral_value() else value


_CONTENTS: dict[str, Callable[[Any], Any]] = {
    "S": lambda content: content,
    "N": _number,
    "B": _bytes,
    "BOOL": lambda content: content,
    "NULL": lambda content: None,
    "SS": lambda content: content,
    "NS": lambda content: content,
    "BS": lambda content: [_bytes(member) for member in content],
    "L": lambda content: [decode(member) for member in content],
    "M": lambda content: {name: decode(member) for name, member in content.items()},
}


AS_IT_IS = ("S", "N", "BOOL")
"""The DynamoDB types whose content pydantic validates without a conversion."""


def _plain(tag: str) -> Decode:
    def plain(value: AttributeValue) -> Any:
        content = value.get(tag)
        return content if content is not None else decode(value)

    return plain


_DECODERS: dict[str, Decode] = {tag: _plain(tag) for tag in AS_IT_IS}


# ---- annotations ----


def core_type(annotation: Any, metadata: list[Any]) -> tuple[Any, bool]:
    """(the type without `| None` and Annotated, whether None is allowed).

    Adds the metadata of Annotated to `metadata`.
    """
    optional = False
    while True:
        origin = get_origin(annotation)
        if isinstance(annotation, Vector):
            metadata.append(annotation)
            annotation = tuple[float, ...]
        elif origin is Annotated:
            annotation, *more = get_args(annotation)
            metadata += more
        elif origin in (Union, types.UnionType) and type(None) in get_args(annotation):
            optional = True
            rest = [a for a in get_args(annotation) if a is not type(None)]
            if len(rest) > 1:
                return Union[tuple(rest)], optional  # noqa: UP007 (built at run time)
            [annotation] = rest
        else:
            return annotation, optional


_TAGS: dict[Any, str] = {
    str: "S", int: "N", Decimal: "N", bytes: "B", bool: "BOOL", datetime: "S", date: "S",
    time: "S", UUID: "S", SecretStr: "S", SecretBytes: "B", AnyUrl: "S",
    list: "L", tuple: "L", dict: "M", Mapping: "M",
}  # fmt: skip


def tag_of(core: Any) -> str:
    origin = get_origin(core)
    if origin is Literal:
        return _common_tag(get_args(core))
    if origin in (set, frozenset):
        inner = tag_of(core_type(get_args(core)[0], [])[0])
        return f"{inner}S" if inner in ("S", "N", "B") else ""
    if isinstance(core, type) and issubclass(core, Enum):
        return _common_tag([member.value for member in core])
    if isinstance(core, type) and issubclass(core, BaseModel):
        return "M"
    return _TAGS.get(origin or core, "")


def _common_tag(values: Any) -> str:
    tags = {_TAGS.get(type(value), "") for value in values}
    return tags.pop() if len(tags) == 1 else ""


def _choices(core: Any) -> tuple[str, ...]:
    """The texts that the field can have, if there is a fixed list of them."""
    if get_origin(core) is Literal:
        values = get_args(core)
    elif isinstance(core, type) and issubclass(core, Enum):
        values = tuple(member.value for member in core)
    else:
        return ()
    return tuple(values) if all(isinstance(value, str) for value in values) else ()


def _length_max(metadata: list[Any]) -> int | None:
    for constraint in metadata:
        if isinstance(constraint, MaxLen):
            return constraint.max_length
        if isinstance(constraint, StringConstraints) and constraint.max_length is not None:
            return constraint.max_length
    return None


def bounds_of(metadata: Sequence[Any]) -> tuple[tuple[str, Decimal], ...]:
    """The bounds of a number, as (comparison, bound)."""
    bounds = []
    for constraint in metadata:
        for sign, name in ((">=", "ge"), (">", "gt"), ("<=", "le"), ("<", "lt")):
            bound = getattr(constraint, name, None)
            if isinstance(bound, (int, Decimal)):
                bounds.append((sign, Decimal(bound)))
    return tuple(bounds)


def _check(annotation: Any, at: object, inside: tuple[Any, ...] = ()) -> None:
    """Raise DeclarationError for types that cannot be stored, also inside containers and models."""
    metadata: list[Any] = []
    core, _ = core_type(annotation, metadata)
    origin = get_origin(core)
    if any(isinstance(m, Vector) for m in metadata):
        raise DeclarationError("a vector must be a field of an item, not a part of a field", at=at)
    if core is float or core is complex:
        raise DeclarationError("float is not exact in DynamoDB: use Decimal", at=at)
    if origin is Literal or core is Any:
        return
    if origin is not None:
        if _TAGS.get(origin) == "M" and not _is_text(get_args(core)[0]):
            raise DeclarationError("the names in a map are texts: use dict[str, ...]", at=at)
        for inner in get_args(core):
            if inner is not Ellipsis:
                _check(inner, at, inside)
        return
    if core in _TAGS or core in (set, frozenset, type(None)):
        return
    if isinstance(core, type) and issubclass(core, BaseModel):
        for info in core.model_fields.values() if core not in inside else ():
            _check(info.annotation, at, (*inside, core))
    elif isinstance(core, type) and not issubclass(core, (Enum, str, int)):
        raise DeclarationError(f"{core.__name__} cannot be stored as a DynamoDB value", at=at)


def _is_text(annotation: Any) -> bool:
    core, _ = core_type(annotation, [])
    if get_origin(core) is Literal:
        return all(isinstance(choice, str) for choice in get_args(core))
    return isinstance(core, type) and issubclass(core, str)


def single_line(item: Item) -> str:
    """An item in wire form as one line for messages, without the types."""
    return ", ".join(f"{name}={content}" for name, av in item.items() for content in av.values())
