// Sensors in buildings and rooms, with ElectroDB, to compare with sensors_hashrange.py.
// Needs a server: ENDPOINT=http://127.0.0.1:8000 node sensors_electrodb.mjs
// (with any AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment)

import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity } from "electrodb";

const client = new DynamoDBClient({ endpoint: process.env.ENDPOINT, region: "us-east-1" });
const table = "sensors-electrodb";

const Sensor = new Entity(
  {
    model: { entity: "sensor", version: "1", service: "building" },
    attributes: {
      building_id: { type: "string", required: true },
      sensor_id: { type: "string", required: true },
      room_id: { type: "string" },
    },
    indexes: {
      of_building: {
        pk: { field: "pk", composite: ["building_id"] },
        sk: { field: "sk", composite: ["sensor_id"] },
      },
      of_room: {
        index: "gsi1",
        condition: (item) => item.room_id !== undefined,
        pk: { field: "gsi1pk", composite: ["room_id"] },
        sk: { field: "gsi1sk", composite: ["sensor_id"] },
      },
    },
  },
  { client, table },
);

const names = ["pk", "sk", "gsi1pk", "gsi1sk"];
const schema = (pk, sk) => [
  { AttributeName: pk, KeyType: "HASH" },
  { AttributeName: sk, KeyType: "RANGE" },
];
await client.send(
  new CreateTableCommand({
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: schema("pk", "sk"),
    GlobalSecondaryIndexes: [
      {
        IndexName: "gsi1",
        KeySchema: schema("gsi1pk", "gsi1sk"),
        Projection: { ProjectionType: "ALL" },
      },
    ],
  }),
);

const shown = async (name, query) => {
  const { data } = await query.go();
  console.log([`${name}:`, ...data.map((sensor) => sensor.sensor_id)].join(" "));
};

for (const sensor_id of ["1", "2"]) {
  await Sensor.put({ building_id: "b", sensor_id, room_id: "r1" }).go();
}
await shown("building", Sensor.query.of_building({ building_id: "b" }));

await Sensor.patch({ building_id: "b", sensor_id: "1" }).set({ room_id: "r2" }).go();
await shown("r1", Sensor.query.of_room({ room_id: "r1" }));
await shown("r2", Sensor.query.of_room({ room_id: "r2" }));

try {
  await Sensor.patch({ building_id: "b", sensor_id: "1" }).remove(["room_id"]).go();
  await shown("r2 after leaving", Sensor.query.of_room({ room_id: "r2" }));
} catch (error) {
  console.log(`leaving is refused: ${error.message.split("\n")[0]}`);
}
