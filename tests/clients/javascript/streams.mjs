import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { DynamoDBStreams } from "@aws-sdk/client-dynamodb-streams";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { config, singleTable } from "./support.mjs";

const client = new DynamoDB(config);
const streams = new DynamoDBStreams(config);
const TableName = "streams";

const created = await client.createTable(
  singleTable(TableName, {
    StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
  }),
);
const StreamArn = created.TableDescription.LatestStreamArn;
const key = (pk, sk = "1") => ({ pk: { S: pk }, sk: { S: sk } });

/** All shards of a stream, read in pages of one. */
async function shardsOf(StreamArn) {
  const shards = [];
  let ExclusiveStartShardId;
  do {
    const { StreamDescription } = await streams.describeStream({
      StreamArn,
      Limit: 1,
      ExclusiveStartShardId,
    });
    shards.push(...StreamDescription.Shards);
    ExclusiveStartShardId = StreamDescription.LastEvaluatedShardId;
  } while (ExclusiveStartShardId);
  return shards;
}

async function iterator(ShardId, ShardIteratorType, more = {}) {
  const given = { StreamArn, ShardId, ShardIteratorType, ...more };
  return (await streams.getShardIterator(given)).ShardIterator;
}

/** Reads a shard to its end, or, if it stays open, until it has no more records after `done()`. */
async function readShard({ ShardId }, records, done) {
  let next = await iterator(ShardId, "TRIM_HORIZON");
  while (next) {
    const last = done();
    const { Records, NextShardIterator } = await streams.getRecords({ ShardIterator: next });
    records.push(...Records.map((record) => ({ ...record, ShardId })));
    if (last && Records.length === 0) return;
    next = NextShardIterator;
    await pause(20);
  }
}

/** Reads all shards as consumers do: each after its parent has been read to the end. */
async function follow(done) {
  const records = [];
  const readers = new Map();
  const begin = async (shard, shards) => {
    const parent = shards.find((other) => other.ShardId === shard.ParentShardId);
    if (parent) await reader(parent, shards);
    await readShard(shard, records, done);
  };
  const reader = (shard, shards) => {
    if (!readers.has(shard.ShardId)) readers.set(shard.ShardId, begin(shard, shards));
    return readers.get(shard.ShardId);
  };
  for (let last = false; !last; await pause(50)) {
    last = done();
    const shards = await shardsOf(StreamArn);
    shards.forEach((shard) => reader(shard, shards));
  }
  await Promise.all(readers.values());
  return records;
}

test("the stream is listed and described", async () => {
  const { Streams } = await streams.listStreams({ TableName });
  assert.deepEqual(Streams, [{ StreamArn, StreamLabel: StreamArn.split("/").at(-1), TableName }]);
  const { StreamDescription } = await streams.describeStream({ StreamArn });
  assert.equal(StreamDescription.StreamStatus, "ENABLED");
  assert.equal(StreamDescription.StreamViewType, "NEW_AND_OLD_IMAGES");
  assert.ok(StreamDescription.CreationRequestDateTime instanceof Date);
});

test("every change is read once and in order while shards roll over", async () => {
  const items = ["a", "b", "c", "d", "e", "f"];
  let writing = true;
  const following = follow(() => !writing);
  for (let round = 0; round < 30; round++) {
    for (const pk of items) {
      await client.putItem({ TableName, Item: { ...key(pk), round: { N: `${round}` } } });
    }
    await pause(100); // so that it takes some periods of a shard
  }
  await client.putItem({ TableName, Item: { ...key("a"), round: { N: "29" } } }); // no change
  for (const pk of items) await client.deleteItem({ TableName, Key: key(pk) });
  writing = false;
  const records = await following;

  for (const pk of items) {
    const mine = records.filter((record) => record.dynamodb.Keys.pk.S === pk);
    const seen = mine.map(({ eventName, dynamodb }) => [
      eventName,
      dynamodb.OldImage?.round.N,
      dynamodb.NewImage?.round.N,
    ]);
    const expected = Array.from({ length: 30 }, (_, round) =>
      round === 0 ? ["INSERT", undefined, "0"] : ["MODIFY", `${round - 1}`, `${round}`],
    );
    assert.deepEqual(seen, [...expected, ["REMOVE", "29", undefined]]);
  }
  assert.equal(new Set(records.map((record) => record.eventID)).size, 6 * 31);
  const shards = new Map((await shardsOf(StreamArn)).map((shard) => [shard.ShardId, shard]));
  const used = new Set(records.map((record) => record.ShardId));
  assert.ok(
    [...used].some((id) => used.has(shards.get(id).ParentShardId)),
    "no shard rolled over",
  );
});

test("a record as Lambda and other consumers get it", async () => {
  await client.putItem({
    TableName,
    Item: { ...key("z"), n: { N: "1" }, b: { B: Buffer.from("x") } },
  });
  const record = (await follow(() => true)).find((each) => each.dynamodb.Keys.pk.S === "z");
  const { SequenceNumber, SizeBytes, ApproximateCreationDateTime } = record.dynamodb;
  assert.match(SequenceNumber, /^\d{21,40}$/);
  assert.equal(SizeBytes, "pkzsk1".length + "pkzsk1n".length + 2 + "bx".length); // 1 is 2 bytes
  assert.ok(ApproximateCreationDateTime instanceof Date);
  assert.deepEqual(
    [record.eventSource, record.eventVersion, record.awsRegion, record.eventName],
    ["aws:dynamodb", "1.1", config.region, "INSERT"],
  );
  assert.deepEqual(unmarshall(record.dynamodb.NewImage), {
    pk: "z",
    sk: "1",
    n: 1,
    b: new Uint8Array([120]),
  });
});

test("iterators at and after a sequence number, and at the end", async () => {
  const all = await follow(() => true);
  const { ShardId } = all.find(
    (record) => all.filter((r) => r.ShardId === record.ShardId).length > 3,
  );
  const numbers = all
    .filter((record) => record.ShardId === ShardId)
    .map((record) => record.dynamodb.SequenceNumber);
  const first = async (type, SequenceNumber) => {
    const ShardIterator = await iterator(ShardId, type, { SequenceNumber });
    const { Records } = await streams.getRecords({ ShardIterator, Limit: 1 });
    return Records.map((record) => record.dynamodb.SequenceNumber);
  };
  assert.deepEqual(await first("AT_SEQUENCE_NUMBER", numbers[1]), [numbers[1]]);
  assert.deepEqual(await first("AFTER_SEQUENCE_NUMBER", numbers[1]), [numbers[2]]);
  assert.deepEqual(await first("LATEST"), []);
});

test("the children of a shard are found by a filter", async () => {
  const shards = await shardsOf(StreamArn);
  const child = shards.find(({ ParentShardId }) => shards.some((s) => s.ShardId === ParentShardId));
  const ShardFilter = { Type: "CHILD_SHARDS", ShardId: child.ParentShardId };
  const { StreamDescription } = await streams.describeStream({ StreamArn, ShardFilter });
  assert.deepEqual(
    StreamDescription.Shards.map(({ ShardId }) => ShardId),
    [child.ShardId],
  );
});

test("an item that has expired is deleted by the service", async () => {
  const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
  await client.updateTimeToLive({ TableName, TimeToLiveSpecification });
  const expires = { N: `${Math.floor(Date.now() / 1000) - 60}` };
  await client.putItem({ TableName, Item: { ...key("y"), expires } });
  const there = { TableName, Key: key("y") };
  while ((await client.getItem(there)).Item) await pause(100);
  const [put, removed] = (await follow(() => true)).filter((r) => r.dynamodb.Keys.pk.S === "y");
  assert.deepEqual([put.eventName, put.userIdentity], ["INSERT", undefined]);
  assert.equal(removed.eventName, "REMOVE");
  assert.deepEqual(removed.userIdentity, {
    Type: "Service",
    PrincipalId: "dynamodb.amazonaws.com",
  });
});

test("a stream that is switched off can be read to its end", async () => {
  await client.updateTable({ TableName, StreamSpecification: { StreamEnabled: false } });
  const { StreamDescription } = await streams.describeStream({ StreamArn });
  assert.equal(StreamDescription.StreamStatus, "DISABLED");
  const shards = await shardsOf(StreamArn);
  assert.ok(shards.every((shard) => shard.SequenceNumberRange.EndingSequenceNumber));
  const records = [];
  for (const shard of shards) await readShard(shard, records, () => false);
  assert.equal(records.length, 6 * 31 + 1 + 2);
});
