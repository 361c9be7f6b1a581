"""The libraries that are measured beside the toolkit, each used as its documentation shows.

`pip install pynamodb pydynox pydynantic`. Each function takes a server's endpoint and a boto3
client for it, and raises ImportError if its library is not installed.
"""

from collections.abc import Callable
from typing import Any

Work = dict[str, Callable[[], object]]

CREDENTIALS = {"aws_access_key_id": "example", "aws_secret_access_key": "example"}
REGION = "us-east-1"
ONE: dict[str, Any] = {
    "building_id": "b-1",
    "sensor_id": "s-001",
    "floor_id": "f-1",
    "room_id": "r-1",
}
KEYS: dict[str, Any] = {
    "pk": "building#b-1",
    "sk": "sensor#s-001",
    "gsi1_pk": "floor#f-1",
    "gsi1_sk": "sensor#s-001",
    "gsi2_pk": "room#r-1",
    "gsi2_sk": "sensor#s-001",
    "entity_type": "Sensor",
}
"""The keys, written by hand for libraries without templates."""


def pynamodb(endpoint: str, client: Any) -> Work:
    from pynamodb.attributes import UnicodeAttribute
    from pynamodb.models import Model

    class PynamoSensor(Model):
        class Meta:
            table_name = "sensors"
            host = endpoint
            region = REGION
            aws_access_key_id = CREDENTIALS["aws_access_key_id"]
            aws_secret_access_key = CREDENTIALS["aws_secret_access_key"]

        pk = UnicodeAttribute(hash_key=True)
        sk = UnicodeAttribute(range_key=True)
        building_id = UnicodeAttribute()
        sensor_id = UnicodeAttribute()
        floor_id = UnicodeAttribute()
        room_id = UnicodeAttribute(null=True)
        entity_type = UnicodeAttribute(attr_name="entityType")
        gsi1_pk = UnicodeAttribute(attr_name="GSI1-pk")
        gsi1_sk = UnicodeAttribute(attr_name="GSI1-sk")
        gsi2_pk = UnicodeAttribute(attr_name="GSI2-pk", null=True)
        gsi2_sk = UnicodeAttribute(attr_name="GSI2-sk", null=True)

    one = PynamoSensor(**KEYS, **ONE)
    return {
        "get": lambda: PynamoSensor.get("building#b-1", "sensor#s-001"),
        "query": lambda: list(
            PynamoSensor.query("building#b-1", PynamoSensor.sk.startswith("sensor#"))
        ),
        "put": one.save,
    }


def pydynox(endpoint: str, client: Any) -> Work:
    from pydynox import DynamoDBClient, Model, ModelConfig
    from pydynox.attributes import StringAttribute

    rust = DynamoDBClient(
        region=REGION, access_key="example", secret_key="example", endpoint_url=endpoint
    )

    class PydynoxSensor(Model):
        model_config = ModelConfig(table="sensors", client=rust)
        pk = StringAttribute(partition_key=True)
        sk = StringAttribute(sort_key=True)
        building_id = StringAttribute()
        sensor_id = StringAttribute()
        floor_id = StringAttribute()
        room_id = StringAttribute()
        entity_type = StringAttribute(alias="entityType")
        gsi1_pk = StringAttribute(alias="GSI1-pk")
        gsi1_sk = StringAttribute(alias="GSI1-sk")
        gsi2_pk = StringAttribute(alias="GSI2-pk")
        gsi2_sk = StringAttribute(alias="GSI2-sk")

    one = PydynoxSensor(**KEYS, **ONE)
    return {
        "get": lambda: PydynoxSensor.sync_get(pk="building#b-1", sk="sensor#s-001"),
        "query": lambda: list(
            PydynoxSensor.sync_query(
                "building#b-1", sort_key_condition=PydynoxSensor.sk.begins_with("sensor#")
            )
        ),
        "put": lambda: one.sync_save(full_replace=True),
    }


def pydynantic(endpoint: str, client: Any) -> Work:
    """Pydynantic also writes an attribute with the entity's type. The other libraries do not."""
    from pydynantic import Entity, Table, key

    shared = Table(
        "sensors",
        pk="pk",
        sk="sk",
        indexes={n: {"pk": f"{n}-pk", "sk": f"{n}-sk"} for n in ("GSI1", "GSI2")},
        client=client,
    )

    class PydynanticSensor(Entity, table=shared, name="Sensor"):
        building_id: str
        sensor_id: str
        floor_id: str
        room_id: str | None = None

        class Meta:
            primary = key(pk="building#{building_id}", sk="sensor#{sensor_id}")
            on_floor = key(index="GSI1", pk="floor#{floor_id}", sk="sensor#{sensor_id}")
            in_room = key(index="GSI2", pk="room#{room_id}", sk="sensor#{sensor_id}")

    one = PydynanticSensor(**ONE)
    every = PydynanticSensor.query.primary
    return {
        "get": lambda: PydynanticSensor.get(building_id="b-1", sensor_id="s-001"),
        "query": lambda: every(building_id="b-1").begins_with("sensor#").all(),
        "put": lambda: PydynanticSensor.put(one),
    }


PEERS = [pynamodb, pydynox, pydynantic]
