import assert from "node:assert/strict";
import test from "node:test";
import dynamoose from "dynamoose";
import { config } from "./support.mjs";

dynamoose.aws.ddb.local(config.endpoint); // keys and region are in the environment
const schema = new dynamoose.Schema(
  {
    owner: { type: String, hashKey: true },
    name: { type: String, rangeKey: true },
    breed: { type: String, index: { name: "breeds", type: "global", rangeKey: "age" } },
    age: { type: Number, default: 1 },
    tags: { type: Set, schema: [String] },
    toys: { type: Array, schema: [String] },
    chip: { type: Object, schema: { id: String, at: Date } },
    photo: Buffer,
    visits: Number,
  },
  { timestamps: true },
);
const Cat = dynamoose.model("Cat", schema);
const waitForActive = { enabled: true, check: { timeout: 20_000, frequency: 20 } };
const table = new dynamoose.Table("cats", [Cat], {
  throughput: "ON_DEMAND",
  expires: 3600,
  tags: { team: "a" },
  streamOptions: { enabled: true, type: "NEW_AND_OLD_IMAGES" },
  initialize: false,
  waitForActive,
});

test("the table is made with its index, time to live, tags and stream", async () => {
  await table.initialize();
  const ddb = dynamoose.aws.ddb();
  const { Table } = await ddb.describeTable({ TableName: "cats" });
  assert.equal(Table.BillingModeSummary.BillingMode, "PAY_PER_REQUEST");
  assert.deepEqual(
    Table.GlobalSecondaryIndexes.map(({ IndexName, IndexStatus }) => [IndexName, IndexStatus]),
    [["breeds", "ACTIVE"]],
  );
  assert.equal(Table.StreamSpecification.StreamViewType, "NEW_AND_OLD_IMAGES");
  const { TimeToLiveDescription } = await ddb.describeTimeToLive({ TableName: "cats" });
  assert.deepEqual(TimeToLiveDescription, { AttributeName: "ttl", TimeToLiveStatus: "ENABLED" });
  const { Tags } = await ddb.listTagsOfResource({ ResourceArn: Table.TableArn });
  assert.deepEqual(Tags, [{ Key: "team", Value: "a" }]);
});

test("create, get, save, and refuse a second create", async () => {
  const at = new Date("2026-11-21T00:00:00Z");
  const made = {
    owner: "ann",
    name: "Tom",
    breed: "tabby",
    chip: { id: "c1", at },
    photo: Buffer.from("x"),
  };
  await Cat.create(made);
  await assert.rejects(Cat.create(made), { name: "ConditionalCheckFailedException" });
  const tom = await Cat.get({ owner: "ann", name: "Tom" });
  assert.equal(tom.age, 1);
  assert.deepEqual(tom.chip, { id: "c1", at });
  assert.equal(tom.photo.toString(), "x");
  assert.ok(tom.createdAt instanceof Date);
  assert.ok(tom.ttl > at);
  tom.age = 2;
  await tom.save();
  assert.equal((await Cat.get({ owner: "ann", name: "Tom" })).age, 2);
  assert.equal(await Cat.get({ owner: "ann", name: "none" }), undefined);
});

test("update: SET, ADD, REMOVE, a list's end, a condition", async () => {
  const key = { owner: "ann", name: "Tom" };
  await Cat.update(key, { $SET: { toys: ["ball"] }, $ADD: { visits: 2, tags: ["old"] } });
  const tom = await Cat.update(
    key,
    { $SET: { toys: ["mouse"] }, $ADD: { visits: -1 }, $REMOVE: ["chip"] },
    { condition: new dynamoose.Condition().where("visits").eq(2), return: "item" },
  );
  assert.deepEqual([tom.visits, tom.toys, tom.chip], [1, ["mouse"], undefined]);
  assert.deepEqual(tom.tags, new Set(["old"]));
  await assert.rejects(
    Cat.update(key, { age: 9 }, { condition: new dynamoose.Condition().where("visits").gt(5) }),
    { name: "ConditionalCheckFailedException" },
  );
});

test("batches", async () => {
  const cats = Array.from({ length: 25 }, (_, n) => ({
    owner: "bob",
    name: `cat${n + 10}`,
    breed: n % 2 ? "manx" : "sphynx",
    age: n,
  }));
  const { unprocessedItems } = await Cat.batchPut(cats);
  assert.deepEqual(unprocessedItems, []);
  const found = await Cat.batchGet([
    { owner: "bob", name: "cat10" },
    { owner: "bob", name: "cat34" },
    { owner: "bob", name: "none" },
  ]);
  assert.deepEqual(
    found.map(({ age }) => age).sort((a, b) => a - b),
    [0, 24],
  );
  assert.deepEqual(found.unprocessedKeys, []);
  await Cat.batchDelete([{ owner: "bob", name: "cat10" }]);
});

test("queries and scans", async () => {
  const names = (items) => items.map(({ name }) => name);
  const manx = () => Cat.query("breed").eq("manx").using("breeds").where("age").gt(10);
  const page = await manx().sort("descending").limit(4).exec();
  assert.deepEqual(names(page), ["cat33", "cat31", "cat29", "cat27"]);
  const rest = await manx().sort("descending").startAt(page.lastKey).exec();
  assert.deepEqual(names(rest), ["cat25", "cat23", "cat21"]);
  assert.equal(rest.lastKey, undefined);
  const begins = await Cat.query("owner").eq("bob").where("name").beginsWith("cat1").exec();
  assert.equal(begins.length, 9);
  assert.equal((await Cat.query("owner").eq("bob").all().limit(5).exec()).length, 24);
  assert.equal((await manx().count().exec()).count, 7);
  const scanned = await Cat.scan("age").between(3, 5).or().where("tags").contains("old").exec();
  assert.deepEqual(names(scanned).sort(), ["Tom", "cat13", "cat14", "cat15"]);
  const parallel = await Cat.scan().parallel(3).exec();
  assert.equal(parallel.length, 25);
});

test("transactions", async () => {
  const adopt = () =>
    dynamoose.transaction([
      Cat.transaction.create({ owner: "ann", name: "Zoe", breed: "manx" }),
      Cat.transaction.update({ owner: "ann", name: "Tom" }, { $ADD: { visits: 1 } }),
      Cat.transaction.delete({ owner: "bob", name: "cat11" }),
      Cat.transaction.condition(
        { owner: "bob", name: "cat12" },
        new dynamoose.Condition().filter("age").lt(5),
      ),
    ]);
  await adopt();
  await assert.rejects(adopt(), (error) => {
    assert.equal(error.name, "TransactionCanceledException");
    assert.deepEqual(
      error.CancellationReasons.map(({ Code }) => Code),
      ["ConditionalCheckFailed", "None", "None", "None"],
    );
    return true;
  });
  const [tom, zoe] = await dynamoose.transaction([
    Cat.transaction.get({ owner: "ann", name: "Tom" }),
    Cat.transaction.get({ owner: "ann", name: "Zoe" }),
  ]);
  assert.deepEqual([tom.visits, zoe.breed], [2, "manx"]);
});

test("an index that the schema gains is added to the table", async () => {
  const Wider = dynamoose.model(
    "Wider",
    new dynamoose.Schema({
      owner: { type: String, hashKey: true },
      name: { type: String, rangeKey: true },
      age: { type: Number, index: { name: "ages", type: "global" } },
    }),
  );
  const wider = new dynamoose.Table("cats", [Wider], {
    throughput: "ON_DEMAND",
    update: ["indexes"],
    initialize: false,
    waitForActive,
  });
  await wider.initialize();
  const found = await Wider.query("age").eq(4).using("ages").exec();
  assert.deepEqual(
    found.map(({ name }) => name),
    ["cat14"],
  );
});
