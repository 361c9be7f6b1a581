import assert from "node:assert/strict";
import test from "node:test";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity, Service } from "electrodb";
import { config, singleTable } from "./support.mjs";

const client = new DynamoDBClient(config);
const table = "electrodb";
const gsi1 = {
  IndexName: "gsi1",
  KeySchema: [
    { AttributeName: "gsi1pk", KeyType: "HASH" },
    { AttributeName: "gsi1sk", KeyType: "RANGE" },
  ],
  Projection: { ProjectionType: "ALL" },
};
const strings = (...names) => names.map((AttributeName) => ({ AttributeName, AttributeType: "S" }));
await client.send(
  new CreateTableCommand(
    singleTable(table, {
      AttributeDefinitions: strings("pk", "sk", "gsi1pk", "gsi1sk"),
      GlobalSecondaryIndexes: [gsi1],
    }),
  ),
);

const employee = new Entity(
  {
    model: { entity: "employee", version: "1", service: "office" },
    attributes: {
      employeeId: { type: "string", required: true },
      team: { type: "string", required: true },
      office: { type: "string", required: true },
      level: { type: "number", default: 1 },
      skills: { type: "set", items: "string" },
      log: { type: "list", items: { type: "string" } },
      address: { type: "map", properties: { city: { type: "string" }, zip: { type: "string" } } },
      visits: { type: "number" },
      expires: { type: "number" },
    },
    indexes: {
      employee: {
        pk: { field: "pk", composite: ["employeeId"] },
        sk: { field: "sk", composite: [] },
      },
      teams: {
        collection: "workplaces",
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["office"] },
        sk: { field: "gsi1sk", composite: ["team", "employeeId"] },
      },
    },
  },
  { client, table },
);
const task = new Entity(
  {
    model: { entity: "task", version: "1", service: "office" },
    attributes: {
      taskId: { type: "string", required: true },
      project: { type: "string", required: true },
      office: { type: "string", required: true },
      points: { type: "number" },
    },
    indexes: {
      task: {
        pk: { field: "pk", composite: ["project"] },
        sk: { field: "sk", composite: ["taskId"] },
      },
      office: {
        collection: "workplaces",
        index: "gsi1",
        pk: { field: "gsi1pk", composite: ["office"] },
        sk: { field: "gsi1sk", composite: ["project", "taskId"] },
      },
    },
  },
  { client, table },
);
const office = new Service({ employee, task });

test("create, get, refuse a second create", async () => {
  const ann = { employeeId: "ann", team: "core", office: "graz", skills: ["css", "sql"] };
  const { data } = await employee.create(ann).go();
  assert.deepEqual(data, { ...ann, level: 1 });
  assert.deepEqual((await employee.get({ employeeId: "ann" }).go()).data, data);
  assert.equal((await employee.get({ employeeId: "nobody" }).go()).data, null);
  await assert.rejects(employee.create(ann).go(), (error) => {
    assert.equal(error.isElectroError, true);
    assert.equal(error.cause.name, "ConditionalCheckFailedException");
    return true;
  });
});

test("update in every way", async () => {
  const { data } = await employee
    .patch({ employeeId: "ann" })
    .set({ address: { city: "Graz", zip: "8010" }, visits: 5 })
    .add({ skills: ["go"], level: 2 })
    .append({ log: ["hired"] })
    .go({ response: "all_new" });
  assert.deepEqual(data.skills.sort(), ["css", "go", "sql"]);
  assert.deepEqual([data.level, data.log], [3, ["hired"]]);
  const { data: more } = await employee
    .update({ employeeId: "ann" })
    .append({ log: ["moved"] })
    .subtract({ visits: 2 })
    .delete({ skills: ["css"] })
    .data(({ address }, { set, remove }) => {
      set(address.city, "Wien");
      remove(address.zip);
    })
    .where(({ level }, { eq }) => eq(level, 3))
    .go({ response: "all_new" });
  more.skills.sort();
  assert.deepEqual(more, {
    employeeId: "ann",
    team: "core",
    office: "graz",
    level: 3,
    visits: 3,
    skills: ["go", "sql"],
    log: ["hired", "moved"],
    address: { city: "Wien" },
  });
  await assert.rejects(
    employee.patch({ employeeId: "nobody" }).set({ level: 9 }).go(),
    /The conditional request failed/,
  );
  const upserted = await employee
    .upsert({ employeeId: "new", team: "core", office: "linz" })
    .add({ visits: 1 })
    .go({ response: "all_new" });
  assert.equal(upserted.data.visits, 1);
});

test("batches", async () => {
  const employees = Array.from({ length: 60 }, (_, n) => ({
    employeeId: `e${n + 10}`,
    team: n % 2 ? "odd" : "even",
    office: "wien",
    level: n,
  }));
  const { unprocessed } = await employee.put(employees).go({ concurrency: 2 });
  assert.deepEqual(unprocessed, []);
  const got = await employee.get([{ employeeId: "e10" }, { employeeId: "e69" }]).go();
  assert.deepEqual(
    got.data.map(({ level }) => level).sort((a, b) => a - b),
    [0, 59],
  );
  await employee.delete([{ employeeId: "e10" }]).go();
});

test("queries: sort keys, filters, cursors, all pages", async () => {
  const odd = employee.query.teams({ office: "wien", team: "odd" });
  assert.equal((await odd.go({ pages: "all" })).data.length, 30);
  const found = await employee.query
    .teams({ office: "wien", team: "odd" })
    .between({ employeeId: "e20" }, { employeeId: "e30" })
    .where(({ level }, { gt, lt }) => `${gt(level, 12)} AND NOT ${lt(level, 16)}`)
    .go({ order: "desc", attributes: ["employeeId"] });
  assert.deepEqual(
    found.data.map((each) => each.employeeId),
    ["e29", "e27"],
  );
  const ids = [];
  let cursor = null;
  do {
    const page = await employee.query.teams({ office: "wien" }).go({ cursor, count: 25 });
    ids.push(page.data.map((each) => each.employeeId));
    cursor = page.cursor;
  } while (cursor);
  assert.deepEqual(
    ids.map((page) => page.length),
    [25, 25, 9],
  );
  assert.equal(new Set(ids.flat()).size, 59);
  assert.equal(
    (await employee.scan.where(({ level }, { gte }) => gte(level, 50)).go()).data.length,
    10,
  );
});

test("a collection holds several entities", async () => {
  await task.put({ taskId: "t1", project: "db", office: "graz", points: 3 }).go();
  const { data } = await office.collections.workplaces({ office: "graz" }).go();
  assert.deepEqual(
    data.employee.map(({ employeeId }) => employeeId),
    ["ann"],
  );
  assert.deepEqual(data.task, [{ taskId: "t1", project: "db", office: "graz", points: 3 }]);
});

test("transactions", async () => {
  const hire = (employeeId) =>
    office.transaction
      .write(({ employee, task }) => [
        employee
          .create({ employeeId, team: "core", office: "graz" })
          .commit({ response: "all_old" }),
        task.patch({ project: "db", taskId: "t1" }).add({ points: 1 }).commit(),
        employee
          .check({ employeeId: "ann" })
          .where(({ level }, { gte }) => gte(level, 2))
          .commit(),
      ])
      .go();
  assert.equal((await hire("bob")).canceled, false);
  const again = await hire("bob");
  assert.equal(again.canceled, true);
  assert.deepEqual(
    again.data.map(({ rejected, code, item }) => [rejected, code, item?.employeeId]),
    [
      [true, "ConditionalCheckFailed", "bob"],
      [false, "None", undefined],
      [false, "None", undefined],
    ],
  );
  const { data } = await office.transaction
    .get(({ employee, task }) => [
      employee.get({ employeeId: "bob" }).commit(),
      task.get({ project: "db", taskId: "t1" }).commit(),
    ])
    .go();
  assert.deepEqual(
    data.map(({ item }) => item.points ?? item.employeeId),
    ["bob", 4],
  );
});
