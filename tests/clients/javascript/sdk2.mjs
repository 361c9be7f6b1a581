import assert from "node:assert/strict";
import test from "node:test";
import AWS from "aws-sdk";
import { config, singleTable } from "./support.mjs";

const options = { ...config, maxRetries: 0, sslEnabled: false };
const client = new AWS.DynamoDB(options);
const documents = new AWS.DynamoDB.DocumentClient(options);
const TableName = "sdk2";

test("create a table, wait, describe; the checksums of answers hold", async () => {
  const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_IMAGE" };
  await client.createTable(singleTable(TableName, { StreamSpecification })).promise();
  const { Table } = await client.waitFor("tableExists", { TableName }).promise();
  assert.equal(Table.TableStatus, "ACTIVE");
  assert.equal(client.config.dynamoDbCrc32, true);
});

test("put, get, update, with sets and binary", async () => {
  const Key = { pk: "a", sk: "1" };
  const tags = documents.createSet(["x", "y"]);
  const Item = { ...Key, tags, bytes: Buffer.from([0, 255]), list: [1, { two: null }], text: "" };
  await documents.put({ TableName, Item }).promise();
  const got = await documents.get({ TableName, Key }).promise();
  assert.deepEqual({ ...got.Item, tags: got.Item.tags.values }, { ...Item, tags: tags.values });
  const { Attributes } = await documents
    .update({
      TableName,
      Key,
      UpdateExpression: "SET #l = list_append(#l, :l) ADD n :n REMOVE bytes",
      ExpressionAttributeNames: { "#l": "list" },
      ExpressionAttributeValues: { ":l": [2], ":n": 1 },
      ReturnValues: "UPDATED_NEW",
    })
    .promise();
  assert.deepEqual(Attributes, { list: [1, { two: null }, 2], n: 1 });
});

test("errors have their codes, and nothing is tried again", async () => {
  const put = {
    TableName,
    Item: { pk: "a", sk: "1" },
    ConditionExpression: "attribute_not_exists(pk)",
  };
  await assert.rejects(documents.put(put).promise(), {
    code: "ConditionalCheckFailedException",
    message: "The conditional request failed",
    statusCode: 400,
    retryable: false,
  });
  const missing = documents.get({ TableName: "missing", Key: { pk: "a" } });
  await assert.rejects(missing.promise(), { code: "ResourceNotFoundException" });
});

test("batch, query in pages, scan", async () => {
  const puts = Array.from({ length: 10 }, (_, n) => ({
    PutRequest: { Item: { pk: "q", sk: `${n}` } },
  }));
  await documents.batchWrite({ RequestItems: { [TableName]: puts } }).promise();
  const query = {
    TableName,
    Limit: 4,
    KeyConditionExpression: "pk = :pk",
    ExpressionAttributeValues: { ":pk": "q" },
  };
  const counts = [];
  let ExclusiveStartKey;
  do {
    const page = await documents.query({ ...query, ExclusiveStartKey }).promise();
    counts.push(page.Count);
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  assert.deepEqual(counts, [4, 4, 2]);
  assert.equal((await documents.scan({ TableName }).promise()).Count, 11);
});

test("a transaction, and why it was cancelled, from the body as everybody reads it", async () => {
  const item = (sk, ConditionExpression) => ({
    Put: { TableName, Item: { pk: "t", sk }, ConditionExpression },
  });
  const write = (...TransactItems) => documents.transactWrite({ TransactItems });
  await write(item("1"), item("2")).promise();
  const request = write(item("3"), item("1", "attribute_not_exists(pk)"));
  let reasons;
  request.on("extractError", ({ httpResponse }) => {
    reasons = JSON.parse(httpResponse.body.toString()).CancellationReasons;
  });
  await assert.rejects(request.promise(), { code: "TransactionCanceledException" });
  assert.deepEqual(
    reasons.map(({ Code }) => Code),
    ["None", "ConditionalCheckFailed"],
  );
});

test("a stream", async () => {
  const streams = new AWS.DynamoDBStreams(options);
  const [{ StreamArn }] = (await streams.listStreams({ TableName }).promise()).Streams;
  const { Shards } = (await streams.describeStream({ StreamArn }).promise()).StreamDescription;
  const seen = [];
  for (const { ShardId } of Shards) {
    const start = { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
    const { ShardIterator } = await streams.getShardIterator(start).promise();
    const { Records } = await streams.getRecords({ ShardIterator }).promise();
    seen.push(
      ...Records.map(({ dynamodb }) => AWS.DynamoDB.Converter.unmarshall(dynamodb.NewImage)),
    );
  }
  assert.equal(seen.length, 14);
  assert.ok(seen.some(({ pk, sk }) => pk === "t" && sk === "2"));
});
