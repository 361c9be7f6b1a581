import assert from "node:assert/strict";
import test from "node:test";
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { NumberValue } from "@aws-sdk/lib-dynamodb";
import * as lib from "@aws-sdk/lib-dynamodb";
import { collected, config, singleTable } from "./support.mjs";

const client = new DynamoDBClient(config);
const documents = lib.DynamoDBDocumentClient.from(client, {
  marshallOptions: { removeUndefinedValues: true },
});
const TableName = "document";
const send = (Command, input) => documents.send(new Command({ TableName, ...input }));

await client.send(new CreateTableCommand(singleTable(TableName)));

test("every type of value goes in and comes out", async () => {
  const item = {
    pk: "user#1",
    sk: "profile",
    name: "Zoë 🦊",
    empty: "",
    age: 41,
    tiny: 1e-130,
    on: true,
    nothing: null,
    bytes: new Uint8Array([0, 1, 255]),
    nested: { list: [1, "two", { three: 3 }, []], map: {} },
    names: new Set(["a", "b"]),
    numbers: new Set([1, 2.5]),
  };
  await send(lib.PutCommand, { Item: { ...item, absent: undefined } });
  const { Item } = await send(lib.GetCommand, { Key: { pk: "user#1", sk: "profile" } });
  assert.deepEqual(Item, item);
});

test("numbers of 38 digits are kept", async () => {
  const digits = "12345678901234567890123456789012345678";
  const Key = { pk: "big", sk: "1" };
  await send(lib.PutCommand, { Item: { ...Key, n: NumberValue.from(digits), i: 2n ** 64n } });
  const exact = lib.DynamoDBDocumentClient.from(new DynamoDBClient(config), {
    unmarshallOptions: { wrapNumbers: true },
  });
  const { Item } = await exact.send(new lib.GetCommand({ TableName, Key }));
  assert.equal(Item.n.value, digits);
  assert.equal(Item.i.value, "18446744073709551616");
});

test("update: SET, ADD, REMOVE, DELETE, list_append", async () => {
  const { Attributes } = await send(lib.UpdateCommand, {
    Key: { pk: "user#1", sk: "profile" },
    UpdateExpression:
      "SET nested.#list = list_append(nested.#list, :more), visits = if_not_exists(visits, :zero) + :one " +
      "ADD numbers :n, age :one REMOVE nothing, nested.#map DELETE #names :a",
    ExpressionAttributeNames: { "#list": "list", "#names": "names", "#map": "map" },
    ExpressionAttributeValues: {
      ":more": ["last"],
      ":zero": 0,
      ":one": 1,
      ":n": new Set([3]),
      ":a": new Set(["a"]),
    },
    ReturnValues: "ALL_NEW",
  });
  const { nested, visits, numbers, age, names } = Attributes;
  assert.deepEqual(
    { nested, visits, numbers, age, names },
    {
      nested: { list: [1, "two", { three: 3 }, [], "last"] },
      visits: 1,
      numbers: new Set([1, 2.5, 3]),
      age: 42,
      names: new Set(["b"]),
    },
  );
  assert.equal("nothing" in Attributes, false);
});

test("optimistic locking", async () => {
  const Key = { pk: "lock", sk: "1" };
  await send(lib.PutCommand, { Item: { ...Key, version: 1 } });
  const bump = (from) =>
    send(lib.UpdateCommand, {
      Key,
      UpdateExpression: "SET version = version + :one",
      ConditionExpression: "version = :from",
      ExpressionAttributeValues: { ":one": 1, ":from": from },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    });
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => bump(1)));
  assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
  const lost = outcomes.filter((outcome) => outcome.status === "rejected");
  for (const { reason } of lost) {
    assert.equal(reason.name, "ConditionalCheckFailedException");
    assert.deepEqual(reason.Item.version, { N: "2" }); // the document client leaves errors alone
  }
});

test("batches, and queries in pages of 1 MB", async () => {
  const text = "x".repeat(100_000);
  const put = (n) => ({ PutRequest: { Item: { pk: "large", sk: `${n}`.padStart(3, "0"), text } } });
  const all = Array.from({ length: 30 }, (_, n) => put(n));
  for (const some of [all.slice(0, 25), all.slice(25)]) {
    const { UnprocessedItems } = await documents.send(
      new lib.BatchWriteCommand({ RequestItems: { [TableName]: some } }),
    );
    assert.deepEqual(UnprocessedItems, {});
  }
  const query = {
    TableName,
    KeyConditionExpression: "pk = :pk AND begins_with(sk, :zero)",
    ExpressionAttributeValues: { ":pk": "large", ":zero": "0" },
  };
  const pages = await collected(lib.paginateQuery({ client: documents }, { ...query }));
  assert.deepEqual(
    pages.map((page) => page.Count),
    [11, 11, 8],
  );
  assert.deepEqual(pages[0].LastEvaluatedKey, { pk: "large", sk: "010" });
  const [counted] = await collected(
    lib.paginateQuery({ client: documents }, { ...query, Select: "COUNT", Limit: 4 }),
  );
  assert.deepEqual([counted.Count, counted.Items], [4, undefined]);

  const { Responses } = await documents.send(
    new lib.BatchGetCommand({
      RequestItems: {
        [TableName]: {
          Keys: [
            { pk: "lock", sk: "1" },
            { pk: "none", sk: "1" },
          ],
        },
      },
    }),
  );
  assert.deepEqual(Responses, { [TableName]: [{ pk: "lock", sk: "1", version: 2 }] });
});

test("transactions", async () => {
  const move = (amount) =>
    new lib.TransactWriteCommand({
      TransactItems: ["from", "to"].map((sk) => ({
        Update: {
          TableName,
          Key: { pk: "account", sk },
          UpdateExpression: "ADD balance :by",
          ConditionExpression: "attribute_not_exists(balance) OR balance >= :least",
          ExpressionAttributeValues: {
            ":by": sk === "to" ? amount : -amount,
            ":least": sk === "to" ? 0 : amount,
          },
        },
      })),
    });
  await send(lib.PutCommand, { Item: { pk: "account", sk: "from", balance: 100 } });
  await documents.send(move(70));
  await assert.rejects(documents.send(move(70)), (error) => {
    assert.equal(error.name, "TransactionCanceledException");
    assert.deepEqual(
      error.CancellationReasons.map((reason) => reason.Code),
      ["ConditionalCheckFailed", "None"],
    );
    return true;
  });
  const { Responses } = await documents.send(
    new lib.TransactGetCommand({
      TransactItems: ["from", "to"].map((sk) => ({
        Get: { TableName, Key: { pk: "account", sk } },
      })),
    }),
  );
  assert.deepEqual(
    Responses.map(({ Item }) => Item.balance),
    [30, 70],
  );
});

test("PartiQL, with documents as parameters", async () => {
  const insert = `INSERT INTO "${TableName}" VALUE {'pk': ?, 'sk': ?, 'tags': ?}`;
  await documents.send(
    new lib.ExecuteStatementCommand({
      Statement: insert,
      Parameters: ["partiql", "1", { list: [1, 2] }],
    }),
  );
  const { Responses } = await documents.send(
    new lib.BatchExecuteStatementCommand({
      Statements: ["1", "2"].map((sk) => ({
        Statement: `SELECT tags FROM "${TableName}" WHERE pk = ? AND sk = ?`,
        Parameters: ["partiql", sk],
      })),
    }),
  );
  assert.deepEqual(
    Responses.map(({ Item }) => Item),
    [{ tags: { list: [1, 2] } }, undefined],
  );
});
