"""Write the requests and the validation tables of `model` from the service model in botocore.

    python scripts/generate_shapes.py            write both
    python scripts/generate_shapes.py --check    exit 1 if they differ from what would be written

The service model is the contract for every request. The Structs are what operations work with;
the tables are for the careful validator, which explains what the Structs' decoder refuses.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import botocore
import botocore.loaders

MODEL = Path(__file__).parents[1] / "src" / "hashrange" / "model"
SERVICES = ("dynamodb", "dynamodbstreams")
TYPED_OPERATIONS = (
    *("PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan"),
    *("BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"),
    *("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"),
    *("CreateTable", "DescribeTable", "ListTables", "UpdateTable", "DeleteTable"),
    *("UpdateTimeToLive", "DescribeTimeToLive"),
    *("UpdateContributorInsights", "DescribeContributorInsights", "ListContributorInsights"),
    *("TagResource", "UntagResource", "ListTagsOfResource"),
    *("DescribeLimits", "DescribeEndpoints", "SearchVectors"),
    *("ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"),
)
"""Operations whose requests become Structs; the others are validated from the tables alone."""

TABLE_ARN_PATTERN = r"(?:arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/)?[a-zA-Z0-9_.-]{3,255}"
"""What the model does not say of a TableArn: it is a table's name or its ARN."""
REQUIRED = {"CreateTableInput": ["AttributeDefinitions", "KeySchema"]}
"""Members that the service was seen to insist on, beyond the model."""
OPTIONAL = {
    "Tag": ["Key", "Value"],
    "TagResourceInput": ["ResourceArn", "Tags"],
    "UntagResourceInput": ["ResourceArn", "TagKeys"],
    "ListTagsOfResourceInput": ["ResourceArn"],
}
"""Members that the model requires, and the service misses in words of its own."""
UNBOUND = ("TagKeyString", "TagValueString", "TableClass", "BackupArn", "ExportArn", "ImportArn")
"""Shapes whose constraints the service checks by itself, in words of its own."""
MORE = {
    "CreateTableInput": {"TableThroughputMode": "BillingMode"},
    "UpdateTableInput": {"TableThroughputMode": "BillingMode"},
}
"""Members that the service was seen to take, beyond the model."""
STRICTER = {"KMSMasterKeyId": {"min": 1}}
"""Constraints that the service was seen to hold, beyond the model."""
PYTHON_PATTERNS = {
    r"\p{Print}+": r"[\x20-\x7e]+",
    r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\r\n\t]*": (
        r"[\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF\r\n\t]*"
    ),
    r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$": r"[a-z0-9A-Z][.\-\w]*[a-z0-9A-Z]",
}
"""Patterns of the model that Python spells otherwise; the last one's own spelling would take
minutes to find out that a long string does not match."""
SERVICE_ORDER = {
    "PutItemInput": "ReturnConsumedCapacity TableName Item ConditionalOperator Expected",
    "GetItemInput": "ReturnConsumedCapacity AttributesToGet TableName Key",
    "DeleteItemInput": "ReturnConsumedCapacity TableName ReturnValues ReturnItemCollectionMetrics"
    " Key ConditionalOperator Expected",
    "UpdateItemInput": "ReturnConsumedCapacity TableName ReturnValuesOnConditionCheckFailure"
    " ReturnItemCollectionMetrics AttributeUpdates ReturnValues ConditionalOperator Key Expected",
    "QueryInput": "Select IndexName ReturnConsumedCapacity QueryFilter TableName"
    " ConditionalOperator AttributesToGet Limit KeyConditions",
    "ScanInput": "Select IndexName TotalSegments ReturnConsumedCapacity TableName"
    " ConditionalOperator ScanFilter Segment Limit AttributesToGet",
    "BatchGetItemInput": "RequestItems ReturnConsumedCapacity",
    "BatchWriteItemInput": "RequestItems ReturnConsumedCapacity ReturnItemCollectionMetrics",
    "TransactWriteItemsInput": "TransactItems ClientRequestToken ReturnConsumedCapacity"
    " ReturnItemCollectionMetrics",
    "CreateTableInput": "AttributeDefinitions BillingMode ProvisionedThroughput TableName"
    " KeySchema GlobalSecondaryIndexes LocalSecondaryIndexes",
    "UpdateTableInput": "ProvisionedThroughput TableName BillingMode GlobalSecondaryIndexUpdates",
    "ListTablesInput": "Limit ExclusiveStartTableName",
    "ProvisionedThroughput": "WriteCapacityUnits ReadCapacityUnits",
    "AttributeDefinition": "AttributeType AttributeName",
    "TimeToLiveSpecification": "AttributeName Enabled",
    "CreateGlobalSecondaryIndexAction": "Projection IndexName ProvisionedThroughput KeySchema",
    "ReturnValue": "ALL_NEW UPDATED_OLD ALL_OLD NONE UPDATED_NEW",
    "ConditionalOperator": "OR AND",
    "Select": "SPECIFIC_ATTRIBUTES COUNT ALL_ATTRIBUTES ALL_PROJECTED_ATTRIBUTES",
    "ScalarAttributeType": "B N S",
    "StreamViewType": "OLD_IMAGE KEYS_ONLY NEW_AND_OLD_IMAGES NEW_IMAGE",
    "ContributorInsightsMode": "THROTTLED_KEYS ACCESSED_AND_THROTTLED_KEYS",
    "ProjectionType": "ALL INCLUDE KEYS_ONLY",
    "ComparisonOperator": "IN NULL BETWEEN LT NOT_CONTAINS EQ GT NOT_NULL NE LE BEGINS_WITH GE"
    " CONTAINS",
}
"""The order in which the service was seen to report members and to list enums, where it is not
the model's. Members that are not named follow in the model's order."""

CHECKED_LATER = {"Select", "ConditionalOperator", "ComparisonOperator", "AttributeAction"}
"""Enums that the service checks among the expressions, not with the members: any string decodes."""

CONSTRAINTS = ("enum", "min", "max", "pattern")
NUMBER_BITS = {"integer": 32, "long": 64}
SCALARS = {"string": "str", "boolean": "bool", "timestamp": "float", "double": "float"}

Shape = dict[str, Any]
Shapes = dict[str, Shape]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check: bool = parser.parse_args(words).check
    operations, shapes = load()
    outdated = False
    for name, text in {
        "requests.py": format_python(requests_module(operations, shapes)),
        "validation/shapes.json": json.dumps(tables(operations, shapes), indent=1) + "\n",
    }.items():
        path = MODEL / name
        if path.exists() and path.read_text() == text:
            continue
        outdated = True
        print(f"{name} {'is not up to date' if check else 'written'}")
        if not check:
            path.write_text(text)
    return int(check and outdated)


# ---- the service model ----


def load() -> tuple[dict[str, str], Shapes]:
    """Each operation's input shape by name, and all shapes that requests consist of."""
    operations: dict[str, str] = {}
    shapes: Shapes = {}
    for service in SERVICES:
        model = botocore.loaders.Loader().load_service_model(service, "service-2")
        every = {name: bare(name, shape) for name, shape in model["shapes"].items()}
        for name, operation in model["operations"].items():
            operations[name] = operation["input"]["shape"]
            shapes |= {reached: every[reached] for reached in reach(operations[name], every)}
    return dict(sorted(operations.items())), dict(sorted(shapes.items()))


def reach(root: str, shapes: Shapes) -> Iterator[str]:
    """The names of a shape and of all its parts; the parts of a shape come before it."""
    seen = set()

    def visit(name: str) -> Iterator[str]:
        if name in seen:
            return
        seen.add(name)
        for part in parts(shapes[name]):
            yield from visit(part)
        yield name

    return visit(root)


def parts(shape: Shape) -> Iterable[str]:
    """The names of the shapes a shape directly consists of."""
    inner = (shape[part] for part in ("member", "key", "value") if part in shape)
    return shape.get("members", {}).values() or inner


def bare(name: str, shape: Shape) -> Shape:
    """A shape with its constraints, and only the names of its parts."""
    constraints = () if name in UNBOUND else CONSTRAINTS
    kept = {key: shape[key] for key in ("type", *constraints) if key in shape}
    required = [*shape.get("required", ()), *REQUIRED.get(name, ())]
    if required:
        kept["required"] = [member for member in required if member not in OPTIONAL.get(name, ())]
    kept |= STRICTER.get(name, {})
    if shape["type"] == "structure":
        members = {member: part["shape"] for member, part in shape["members"].items()}
        kept["members"] = members | MORE.get(name, {})
    inner = {part: shape[part]["shape"] for part in ("member", "key", "value") if part in shape}
    return kept | inner


def tables(operations: dict[str, str], shapes: Shapes) -> dict[str, Any]:
    ordered = {name: in_service_order(name, shape) for name, shape in shapes.items()}
    return {"source": source(), "operations": operations, "shapes": ordered}


def in_service_order(name: str, shape: Shape) -> Shape:
    seen = SERVICE_ORDER.get(name, "").split()
    if "enum" in shape:
        return {**shape, "enum": list(dict.fromkeys([*seen, *shape["enum"]]))}
    if "members" in shape:
        members = shape["members"]
        return {**shape, "members": {key: members[key] for key in [*seen, *members]}}
    if shape.get("pattern") in PYTHON_PATTERNS:
        return {**shape, "python_pattern": PYTHON_PATTERNS[shape["pattern"]]}
    return shape


def source() -> str:
    return f"scripts/generate_shapes.py, botocore {botocore.__version__}"


# ---- the module of Structs ----

HEADER = '''"""The requests of the typed operations, as Structs.

Written by {source}.
Members bear the model's names in snake case. An optional member is None if it is absent.
"""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct, field

from hashrange.model.values import AttributeValue


class Structure(Struct, rename="pascal", frozen=True, omit_defaults=True, gc=False):
    """A structure of the service model."""

    legacy: ClassVar[bool] = False
    """Whether the service's legacy validation reads the request."""
'''


def requests_module(operations: dict[str, str], shapes: Shapes) -> str:
    """Source text: each constrained type and each class comes after its parts."""
    inputs = {operations[name]: name for name in TYPED_OPERATIONS}
    names = dict.fromkeys(name for root in inputs for name in reach(root, shapes))
    names.pop("AttributeValue")
    typed = {name: shapes[name] for name in names}
    clashes = typed.keys() & set(TYPED_OPERATIONS)
    class_names = {
        shape: operation + "Request" * (operation in clashes) for shape, operation in inputs.items()
    }
    text = [HEADER.format(source=source())]
    for name, shape in typed.items():
        if shape["type"] == "structure":
            text.append(class_source(class_names.get(name, name), shape, shapes))
        elif has_constraints(shape):
            text.append(f"{name} = {constrained_type(name, shapes)}")
    return "\n".join(text)


def class_source(class_name: str, shape: Shape, shapes: Shapes) -> str:
    lines = [f"class {class_name}(Structure, kw_only=True, frozen=True):"]
    for name, member in shape["members"].items():
        required = name in shape.get("required", ())
        options = [] if required else ["default=None"]
        snake = snake_case(name)
        if "".join(word.title() for word in snake.split("_")) != name:
            options.append(f'name="{name}"')
        default = "None" if options == ["default=None"] else f"field({', '.join(options)})"
        annotation = type_source(member, shapes) + ("" if required else " | None")
        lines.append(f"    {snake}: {annotation}" + (f" = {default}" if options else ""))
    return "\n".join(lines if shape["members"] else [*lines, "    pass"])


def snake_case(name: str) -> str:
    """SSESpecification -> sse_specification, S3Bucket -> s3_bucket."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def has_constraints(shape: Shape) -> bool:
    return shape["type"] in NUMBER_BITS or any(key in shape for key in CONSTRAINTS)


def type_source(name: str, shapes: Shapes) -> str:
    """How a member of this shape is annotated: by name, or in full if that says more."""
    shape = shapes[name]
    if shape["type"] == "structure" or has_constraints(shape):
        return name
    return plain_type(shape, shapes)


def plain_type(shape: Shape, shapes: Shapes) -> str:
    match shape["type"]:
        case "list":
            return f"list[{type_source(shape['member'], shapes)}]"
        case "map":
            key, value = (type_source(shape[part], shapes) for part in ("key", "value"))
            return f"dict[{key}, {value}]"
        case "integer" | "long":
            return "int"
        case scalar:
            return SCALARS[scalar]


def constrained_type(name: str, shapes: Shapes) -> str:
    shape = shapes[name]
    if name in CHECKED_LATER:
        return "str"
    if "enum" in shape:
        return f"Literal[{', '.join(json.dumps(value) for value in shape['enum'])}]"
    if bits := NUMBER_BITS.get(shape["type"]):
        least = shape.get("min", -(2 ** (bits - 1)))
        most = shape.get("max", 2 ** (bits - 1) - 1)
        return f"Annotated[int, Meta(ge={least}, le={most})]"
    meta = [f"{bound}_length={shape[bound]}" for bound in ("min", "max") if bound in shape]
    if pattern := TABLE_ARN_PATTERN if name == "TableArn" else shape.get("pattern"):
        meta.append(f'pattern=r"^(?:{pattern})\\Z"')
    return f"Annotated[{plain_type(shape, shapes)}, Meta({', '.join(meta)})]"


def format_python(text: str) -> str:
    """The text as ruff formats it, so that the check of the whole tree passes."""
    config = str(MODEL.parents[2] / "pyproject.toml")
    command = [sys.executable, "-m", "ruff", "format", "--config", config, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
