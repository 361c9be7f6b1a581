import assert from "node:assert/strict";
import test from "node:test";
import * as dynamodb from "@aws-sdk/client-dynamodb";
import { config, singleTable } from "./support.mjs";

const Key = { pk: { S: "hot" }, sk: { S: "one" } };
const WRITES = 60;

async function counted(retryMode) {
  const client = new dynamodb.DynamoDB({ ...config, retryMode, maxAttempts: 12 });
  const TableName = `retried-${retryMode}`;
  await client.createTable(singleTable(TableName));
  let retries = 0;
  for (let number = 0; number < WRITES; number += 1) {
    const answer = await client.updateItem({
      TableName,
      Key,
      UpdateExpression: "ADD n :one",
      ExpressionAttributeValues: { ":one": { N: "1" } },
    });
    retries += answer.$metadata.attempts - 1;
  }
  const { Item } = await client.getItem({ TableName, Key, ConsistentRead: true });
  return { retries, n: Item.n.N };
}

test("standard retries get through throttling", async () => {
  const { retries, n } = await counted("standard");
  assert.ok(retries > 0);
  assert.equal(n, String(WRITES));
});

test("adaptive retries get through throttling", async () => {
  const { retries, n } = await counted("adaptive");
  assert.ok(retries > 0);
  assert.equal(n, String(WRITES));
});
