import assert from "node:assert/strict";
import test from "node:test";
import * as dynamodb from "@aws-sdk/client-dynamodb";
import { collected, config, singleTable } from "./support.mjs";

const client = new dynamodb.DynamoDB(config);
const TableName = "sdk";
const gsi = {
  IndexName: "by-kind",
  KeySchema: [
    { AttributeName: "kind", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  Projection: { ProjectionType: "ALL" },
};
const key = (pk, sk) => ({ pk: { S: pk }, sk: { S: sk } });

const waiting = { client, maxWaitTime: 60 };

test("create tables, wait, describe, list in pages", async () => {
  await client.createTable(singleTable(TableName, { Tags: [{ Key: "team", Value: "a" }] }));
  for (const name of ["sdk-2", "sdk-3"]) await client.createTable(singleTable(name));
  const waited = await dynamodb.waitUntilTableExists(waiting, { TableName });
  assert.equal(waited.state, "SUCCESS");
  const { Table } = await client.describeTable({ TableName });
  assert.equal(Table.TableStatus, "ACTIVE");
  assert.equal(Table.BillingModeSummary.BillingMode, "PAY_PER_REQUEST");
  assert.ok(Table.CreationDateTime instanceof Date);
  assert.ok(Math.abs(Table.CreationDateTime - Date.now()) < 60_000);

  const pages = await collected(dynamodb.paginateListTables({ client, pageSize: 2 }, {}));
  assert.deepEqual(
    pages.map((page) => page.TableNames),
    [["sdk", "sdk-2"], ["sdk-3"]],
  );
});

test("delete a table and wait until it is gone", async () => {
  const gone = { TableName: "sdk-2" };
  await client.deleteTable(gone);
  const waited = await dynamodb.waitUntilTableNotExists(waiting, gone);
  assert.equal(waited.state, "SUCCESS");
});

test("put, get, update, delete", async () => {
  const item = {
    ...key("a", "1"),
    kind: { S: "book" },
    price: { N: "12.50" },
    tags: { SS: ["x"] },
  };
  const put = await client.putItem({ TableName, Item: item, ReturnConsumedCapacity: "TOTAL" });
  assert.deepEqual(put.ConsumedCapacity, { TableName, CapacityUnits: 1 });
  const got = await client.getItem({ TableName, Key: key("a", "1"), ConsistentRead: true });
  assert.deepEqual(got.Item, { ...item, price: { N: "12.5" } });

  const updated = await client.updateItem({
    TableName,
    Key: key("a", "1"),
    UpdateExpression: "SET #l = list_append(if_not_exists(#l, :none), :more) ADD price :p, tags :t",
    ExpressionAttributeNames: { "#l": "log" },
    ExpressionAttributeValues: {
      ":none": { L: [] },
      ":more": { L: [{ M: { bytes: { B: new Uint8Array([0, 255]) } } }] },
      ":p": { N: "-0.5" },
      ":t": { SS: ["y"] },
    },
    ReturnValues: "UPDATED_NEW",
  });
  assert.deepEqual(updated.Attributes, {
    log: { L: [{ M: { bytes: { B: new Uint8Array([0, 255]) } } }] },
    price: { N: "12" },
    tags: { SS: ["x", "y"] },
  });
  const removed = await client.updateItem({
    TableName,
    Key: key("a", "1"),
    UpdateExpression: "REMOVE #l[0], kind DELETE tags :t",
    ExpressionAttributeNames: { "#l": "log" },
    ExpressionAttributeValues: { ":t": { SS: ["x", "y"] } },
    ReturnValues: "ALL_NEW",
  });
  assert.deepEqual(removed.Attributes, { ...key("a", "1"), price: { N: "12" }, log: { L: [] } });
  const deleted = await client.deleteItem({
    TableName,
    Key: key("a", "1"),
    ReturnValues: "ALL_OLD",
  });
  assert.deepEqual(deleted.Attributes, removed.Attributes);
  assert.equal((await client.getItem({ TableName, Key: key("a", "1") })).Item, undefined);
});

test("a failed condition is an error class, with the item", async () => {
  const item = { ...key("b", "1"), version: { N: "3" } };
  await client.putItem({ TableName, Item: item });
  const put = client.putItem({
    TableName,
    Item: item,
    ConditionExpression: "attribute_not_exists(pk)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
  await assert.rejects(put, (error) => {
    assert.ok(error instanceof dynamodb.ConditionalCheckFailedException);
    assert.equal(error.message, "The conditional request failed");
    assert.deepEqual(error.Item, item);
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.match(error.$metadata.requestId, /^[0-9A-Z]{52}$/);
    return true;
  });
});

test("errors have their classes", async () => {
  const missing = { TableName: "missing" };
  await assert.rejects(client.describeTable(missing), dynamodb.ResourceNotFoundException);
  await assert.rejects(client.createTable(singleTable(TableName)), dynamodb.ResourceInUseException);
  await assert.rejects(client.getItem({ TableName, Key: { pk: { S: "b" } } }), {
    name: "ValidationException",
    message: "The provided key element does not match the schema",
  });
});

test("transactions, and why one was cancelled", async () => {
  const put = (pk, sk) => ({ Put: { TableName, Item: key(pk, sk) } });
  const write = { TransactItems: [put("c", "1"), put("c", "2")], ClientRequestToken: "token" };
  await client.transactWriteItems(write);
  await client.transactWriteItems(write); // the same token: done already
  await assert.rejects(
    client.transactWriteItems({ TransactItems: [put("c", "3")], ClientRequestToken: "token" }),
    dynamodb.IdempotentParameterMismatchException,
  );

  const check = {
    ConditionCheck: {
      TableName,
      Key: key("b", "1"),
      ConditionExpression: "version > :v",
      ExpressionAttributeValues: { ":v": { N: "3" } },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    },
  };
  await assert.rejects(
    client.transactWriteItems({ TransactItems: [put("c", "3"), check] }),
    (error) => {
      assert.ok(error instanceof dynamodb.TransactionCanceledException);
      assert.match(error.message, /\[None, ConditionalCheckFailed\]$/);
      assert.deepEqual(error.CancellationReasons, [
        { Code: "None" },
        {
          Code: "ConditionalCheckFailed",
          Message: "The conditional request failed",
          Item: { ...key("b", "1"), version: { N: "3" } },
        },
      ]);
      return true;
    },
  );
  const get = (sk) => ({ Get: { TableName, Key: key("c", sk) } });
  const { Responses } = await client.transactGetItems({ TransactItems: [get("2"), get("3")] });
  assert.deepEqual(Responses, [{ Item: key("c", "2") }, {}]);
});

test("batches", async () => {
  const puts = Array.from({ length: 25 }, (_, n) => ({
    PutRequest: { Item: { ...key("d", `${n + 10}`), kind: { S: n % 2 ? "odd" : "even" } } },
  }));
  const written = await client.batchWriteItem({ RequestItems: { [TableName]: puts } });
  assert.deepEqual(written.UnprocessedItems, {});
  const got = await client.batchGetItem({
    RequestItems: {
      [TableName]: {
        Keys: [key("d", "10"), key("d", "34"), key("d", "99")],
        ProjectionExpression: "sk",
      },
    },
  });
  assert.deepEqual(got.Responses[TableName].map((item) => item.sk.S).sort(), ["10", "34"]);
  assert.deepEqual(got.UnprocessedKeys, {});
});

test("an index is added while the table is in use", async () => {
  await client.updateTable({
    TableName,
    AttributeDefinitions: ["kind", "sk"].map((AttributeName) => ({
      AttributeName,
      AttributeType: "S",
    })),
    GlobalSecondaryIndexUpdates: [{ Create: gsi }],
  });
  let index;
  do {
    index = (await client.describeTable({ TableName })).Table.GlobalSecondaryIndexes[0];
  } while (index.IndexStatus !== "ACTIVE");
  assert.equal(index.ItemCount, 25);
});

test("query in pages, forward and backward", async () => {
  const query = {
    TableName,
    IndexName: gsi.IndexName,
    KeyConditionExpression: "kind = :k AND sk BETWEEN :a AND :z",
    ExpressionAttributeValues: { ":k": { S: "odd" }, ":a": { S: "13" }, ":z": { S: "19" } },
  };
  const sks = (pages) => pages.map((page) => page.Items.map((item) => item.sk.S));
  const forward = await collected(dynamodb.paginateQuery({ client, pageSize: 3 }, { ...query }));
  assert.deepEqual(sks(forward), [["13", "15", "17"], ["19"]]);
  assert.deepEqual(forward[0].LastEvaluatedKey, { ...key("d", "17"), kind: { S: "odd" } });
  const backward = dynamodb.paginateQuery(
    { client, pageSize: 3 },
    { ...query, ScanIndexForward: false },
  );
  assert.deepEqual(sks(await collected(backward)), [["19", "17", "15"], ["13"]]);
});

test("scan in parallel, filtered", async () => {
  const segment = async (Segment) =>
    collected(
      dynamodb.paginateScan(
        { client, pageSize: 4 },
        {
          TableName,
          Segment,
          TotalSegments: 3,
          FilterExpression: "attribute_exists(kind) AND NOT sk IN (:a, :b)",
          ExpressionAttributeValues: { ":a": { S: "10" }, ":b": { S: "11" } },
        },
      ),
    );
  const pages = (await Promise.all([0, 1, 2].map(segment))).flat();
  const total = (member) => pages.reduce((sum, page) => sum + page[member], 0);
  assert.deepEqual([total("Count"), total("ScannedCount")], [23, 28]);
});

test("PartiQL", async () => {
  const run = (Statement, ...Parameters) => client.executeStatement({ Statement, Parameters });
  const insert = `INSERT INTO "sdk" VALUE {'pk': 'e', 'sk': '1', 'n': ?}`;
  await run(insert, { N: "1" });
  await run(`UPDATE "sdk" SET n = n + 1 WHERE pk = 'e' AND sk = ?`, { S: "1" });
  const { Items } = await run(`SELECT n FROM "sdk" WHERE pk = ?`, { S: "e" });
  assert.deepEqual(Items, [{ n: { N: "2" } }]);
  await assert.rejects(run(insert, { N: "1" }), dynamodb.DuplicateItemException);
});

test("time to live, tags, limits", async () => {
  const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
  await client.updateTimeToLive({ TableName, TimeToLiveSpecification });
  const { TimeToLiveDescription } = await client.describeTimeToLive({ TableName });
  assert.deepEqual(TimeToLiveDescription, {
    AttributeName: "expires",
    TimeToLiveStatus: "ENABLED",
  });

  const ResourceArn = (await client.describeTable({ TableName })).Table.TableArn;
  await client.tagResource({ ResourceArn, Tags: [{ Key: "stage", Value: "test" }] });
  await client.untagResource({ ResourceArn, TagKeys: ["team"] });
  const { Tags } = await client.listTagsOfResource({ ResourceArn });
  assert.deepEqual(Tags, [{ Key: "stage", Value: "test" }]);
  assert.equal((await client.describeLimits({})).TableMaxReadCapacityUnits, 40_000);
});
