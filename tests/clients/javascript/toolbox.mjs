import assert from "node:assert/strict";
import test from "node:test";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import * as toolbox from "dynamodb-toolbox";
import { config, singleTable } from "./support.mjs";

const { item, list, map, number, record, set, string } = toolbox;
const client = new DynamoDBClient(config);
const gsi = {
  IndexName: "byType",
  KeySchema: [
    { AttributeName: "type", KeyType: "HASH" },
    { AttributeName: "level", KeyType: "RANGE" },
  ],
  Projection: { ProjectionType: "ALL" },
};
const definition = singleTable("toolbox", { GlobalSecondaryIndexes: [gsi] });
definition.AttributeDefinitions.push(
  { AttributeName: "type", AttributeType: "S" },
  { AttributeName: "level", AttributeType: "N" },
);
await client.send(new CreateTableCommand(definition));

const table = new toolbox.Table({
  name: "toolbox",
  partitionKey: { name: "pk", type: "string" },
  sortKey: { name: "sk", type: "string" },
  indexes: {
    byType: {
      type: "global",
      partitionKey: { name: "type", type: "string" },
      sortKey: { name: "level", type: "number" },
    },
  },
  documentClient: DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
  }),
});
const pokemon = new toolbox.Entity({
  name: "pokemon",
  table,
  timestamps: false,
  schema: item({
    trainer: string().key().savedAs("pk"),
    name: string().key().savedAs("sk"),
    type: string(),
    level: number().default(1),
    types: set(string()).optional(),
    moves: list(string()).optional(),
    stats: record(string(), number()).optional(),
    home: map({ town: string(), floor: number().optional() }).optional(),
    customName: string().optional(),
  }),
});
const ash = (name, more) => ({ trainer: "ash", name, type: "electric", ...more });

test("put, get, and a put that must be the first", async () => {
  const { Attributes } = await pokemon
    .build(toolbox.PutItemCommand)
    .item(ash("pikachu", { types: new Set(["electric"]), stats: { hp: 35 } }))
    .options({ returnValues: "ALL_OLD" })
    .send();
  assert.equal(Attributes, undefined);
  const { Item } = await pokemon
    .build(toolbox.GetItemCommand)
    .key({ trainer: "ash", name: "pikachu" })
    .options({ consistent: true, attributes: ["name", "level", "stats.hp"] })
    .send();
  assert.deepEqual(Item, { name: "pikachu", level: 1, stats: { hp: 35 } });

  const first = pokemon
    .build(toolbox.PutItemCommand)
    .item(ash("pikachu"))
    .options({
      condition: { attr: "name", exists: false },
      returnValuesOnConditionFalse: "ALL_OLD",
    });
  await assert.rejects(first.send(), (error) => {
    assert.equal(error.name, "ConditionalCheckFailedException");
    assert.ok(toolbox.isConditionCheckFailed(error, pokemon));
    assert.deepEqual(error.Item.level, { N: "1" });
    return true;
  });
});

test("update in every way", async () => {
  const { $add, $append, $delete, $get, $prepend, $remove, $set, $sum } = toolbox;
  const update = (changes, options) =>
    pokemon
      .build(toolbox.UpdateItemCommand)
      .item({ trainer: "ash", name: "pikachu", ...changes })
      .options({ returnValues: "ALL_NEW", ...options })
      .send();
  await update({
    level: $add(4),
    types: $add(new Set(["cute"])),
    moves: $append(["jolt"]),
    stats: { speed: 90 },
    home: $set({ town: "Pallet" }),
    customName: "Pika",
  });
  const { Attributes } = await update(
    {
      level: $sum($get("level"), 10),
      types: $delete(new Set(["electric"])),
      moves: $prepend(["tackle"]),
      stats: { hp: $get("stats.speed"), speed: $remove() },
      home: { floor: 2 },
      customName: $remove(),
    },
    {
      condition: {
        and: [
          { attr: "level", gte: 5 },
          { attr: "types", contains: "cute" },
        ],
      },
    },
  );
  assert.deepEqual(Attributes, {
    ...ash("pikachu"),
    level: 15,
    types: new Set(["cute"]),
    moves: ["tackle", "jolt"],
    stats: { hp: 90 },
    home: { town: "Pallet", floor: 2 },
  });
});

test("batches", async () => {
  const puts = Array.from({ length: 20 }, (_, n) =>
    pokemon
      .build(toolbox.BatchPutRequest)
      .item({ trainer: "gary", name: `p${n + 10}`, type: n % 2 ? "fire" : "water", level: n }),
  );
  const remove = pokemon.build(toolbox.BatchDeleteRequest).key({ trainer: "ash", name: "none" });
  const { UnprocessedItems } = await toolbox.executeBatchWrite(
    table.build(toolbox.BatchWriteCommand).requests(...puts, remove),
  );
  assert.deepEqual(UnprocessedItems, {});
  const get = (name) => pokemon.build(toolbox.BatchGetRequest).key({ trainer: "gary", name });
  const { Responses } = await toolbox.executeBatchGet(
    table.build(toolbox.BatchGetCommand).requests(get("p10"), get("p99"), get("p29")),
  );
  assert.deepEqual(
    Responses[0].map((found) => found?.level),
    [0, undefined, 19],
  );
});

test("queries and scans", async () => {
  const query = (what, options) =>
    table.build(toolbox.QueryCommand).query(what).entities(pokemon).options(options).send();
  const fire = { index: "byType", partition: "fire", range: { gt: 5 } };
  const page = await query(fire, { limit: 3, reverse: true });
  assert.deepEqual(
    page.Items.map(({ level }) => level),
    [19, 17, 15],
  );
  const rest = await query(fire, {
    reverse: true,
    exclusiveStartKey: page.LastEvaluatedKey,
    maxPages: Infinity,
    filters: { pokemon: { not: { attr: "name", between: ["p19", "p21"] } } },
  });
  assert.deepEqual(
    rest.Items.map(({ level }) => level),
    [13, 7],
  );
  const begins = await query(
    { partition: "gary", range: { beginsWith: "p2" } },
    { select: "COUNT" },
  );
  assert.equal(begins.Count, 10);
  const scan = table.build(toolbox.ScanCommand).entities(pokemon);
  const scanned = await scan.options({ maxPages: Infinity, limit: 7 }).send();
  assert.equal(scanned.Items.length, 21);
});

test("transactions", async () => {
  const trade = [
    pokemon
      .build(toolbox.PutTransaction)
      .item(ash("mew"))
      .options({
        condition: { attr: "name", exists: false },
      }),
    pokemon.build(toolbox.UpdateTransaction).item({
      trainer: "ash",
      name: "pikachu",
      level: toolbox.$add(1),
    }),
    pokemon.build(toolbox.DeleteTransaction).key({ trainer: "gary", name: "p10" }),
    pokemon
      .build(toolbox.ConditionCheck)
      .key({ trainer: "gary", name: "p11" })
      .condition({ attr: "level", lt: 2 }),
  ];
  await toolbox.executeTransactWrite({ clientRequestToken: "trade" }, ...trade);
  await toolbox.executeTransactWrite({ clientRequestToken: "trade" }, ...trade);
  await assert.rejects(toolbox.executeTransactWrite(...trade), (error) => {
    assert.equal(error.name, "TransactionCanceledException");
    assert.deepEqual(
      error.CancellationReasons.map(({ Code }) => Code),
      ["ConditionalCheckFailed", "None", "None", "None"],
    );
    return true;
  });
  const get = (name) => pokemon.build(toolbox.GetTransaction).key({ trainer: "ash", name });
  const { Responses } = await toolbox.executeTransactGet(get("pikachu"), get("none"));
  assert.deepEqual(
    Responses.map(({ Item }) => Item?.level),
    [16, undefined],
  );
});

test("a partition is deleted", async () => {
  const remove = table.build(toolbox.DeletePartitionCommand).query({ partition: "gary" });
  await remove.entities(pokemon).send();
  const { Items } = await table.build(toolbox.ScanCommand).entities(pokemon).send();
  assert.deepEqual(Items.map(({ name }) => name).sort(), ["mew", "pikachu"]);
});
