import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { before } from "node:test";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { singleTable } from "./support.mjs";

const require = createRequire(import.meta.url);
const endpoint = process.env.ENDPOINT;
const { port } = new URL(endpoint);
const credentials = { accessKeyId: "local", secretAccessKey: "local" };
const tables = async (options) => (await new DynamoDB(options).listTables({})).TableNames;

before(async () => {
  await new DynamoDB({ endpoint, region: "local", credentials }).createTable(singleTable("shared"));
});

test("any region and any credentials find the same tables", async () => {
  const keys = [
    { accessKeyId: "x", secretAccessKey: "x" },
    { accessKeyId: "DUMMYIDEXAMPLE", secretAccessKey: "DUMMYEXAMPLEKEY" },
    { accessKeyId: "fake-My_Key.Id", secretAccessKey: "fakeSecretAccessKey" },
    { accessKeyId: "key", secretAccessKey: "secret", sessionToken: "token" },
  ];
  for (const credentials of keys) {
    for (const region of ["local", "localhost", "local-env", "none", "eu-west-1", "cn-north-1"]) {
      const found = await tables({ endpoint, region, credentials, maxAttempts: 1 });
      assert.deepEqual(found, ["shared"], `${region} ${credentials.accessKeyId}`);
    }
  }
});

test("an endpoint may be given in many ways", async () => {
  const url = (host, path = "") => `http://${host}:${port}${path}`;
  const explicit = [
    url("127.0.0.1"),
    url("localhost"),
    url("localhost", "/"),
    { protocol: "http:", hostname: "localhost", port: Number(port), path: "/" },
    async () => ({ protocol: "http:", hostname: "localhost", port: Number(port), path: "/" }),
  ];
  for (const endpoint of explicit) {
    assert.deepEqual(await tables({ endpoint, region: "local", credentials }), ["shared"]);
  }
  for (const name of ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"]) {
    process.env[name] = endpoint;
    assert.deepEqual(await tables({ region: "local", credentials }), ["shared"]);
    delete process.env[name];
  }
});

test("many requests at once, with and without connections that are kept", async () => {
  for (const keepAlive of [true, false]) {
    const requestHandler = { httpAgent: { keepAlive, maxSockets: 50 } };
    const client = new DynamoDB({ endpoint, region: "local", credentials, requestHandler });
    const write = (n) =>
      client.updateItem({
        TableName: "shared",
        Key: { pk: { S: `${keepAlive}` }, sk: { S: "count" } },
        UpdateExpression: "ADD n :one",
        ExpressionAttributeValues: { ":one": { N: "1" } },
        ReturnValues: "UPDATED_NEW",
      });
    const answers = await Promise.all(Array.from({ length: 300 }, write));
    const counts = answers.map(({ Attributes }) => Number(Attributes.n.N)).sort((a, b) => a - b);
    assert.deepEqual(
      counts,
      Array.from({ length: 300 }, (_, n) => n + 1),
    );
    client.destroy();
  }
});

test("requests that are given up do not disturb the next", async () => {
  const client = new DynamoDB({ endpoint, region: "local", credentials });
  const giving = new AbortController();
  const asked = Array.from({ length: 20 }, () =>
    client.scan({ TableName: "shared" }, { abortSignal: giving.signal }),
  );
  setImmediate(() => giving.abort());
  const outcomes = await Promise.allSettled(asked);
  assert.ok(outcomes.some(({ reason }) => reason?.name === "AbortError"));
  assert.equal((await client.scan({ TableName: "shared" })).Count, 2);
});

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

test("jest-dynamodb starts with hashrange in DynamoDB Local's place", async () => {
  const config = join(mkdtempSync(join(tmpdir(), "jest-")), "jest-dynamodb-config.js");
  const port = await freePort();
  const table = singleTable("files", {
    BillingMode: undefined,
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
  });
  writeFileSync(config, `module.exports = ${JSON.stringify({ tables: [table], port })}`);
  process.env.JEST_DYNAMODB_CONFIG = config;
  const setUp = require("@shelf/jest-dynamodb/lib/setup.js").default;
  const tearDown = require("@shelf/jest-dynamodb/lib/teardown.js").default;

  const server = spawn("hashrange", ["serve", "--port", port]);
  await new Promise((greeted) => server.stdout.once("data", greeted));
  globalThis.__DYNAMODB__ = server; // so that it is not started, but stopped, by jest-dynamodb
  for (let run = 0; run < 2; run++) await setUp(); // the second finds the tables, and empties them
  const endpoint = `http://localhost:${port}`;
  assert.deepEqual(await tables({ endpoint, region: "local-env", credentials }), ["files"]);
  const stopped = new Promise((ended) => server.once("exit", ended));
  await tearDown({});
  assert.equal(await stopped, 0);
});

test("serverless-dynamodb makes its tables and seeds them", async () => {
  const Plugin = require("serverless-dynamodb");
  const seeds = join(mkdtempSync(join(tmpdir(), "seeds-")), "seeds.json");
  const items = Array.from({ length: 30 }, (_, n) => ({ pk: "seed", sk: `${n}` }));
  writeFileSync(seeds, JSON.stringify(items));
  const Properties = singleTable("serverless", {
    StreamSpecification: { StreamViewType: "NEW_IMAGE" },
    TimeToLiveSpecification: { AttributeName: "expires", Enabled: true },
    SSESpecification: { SSEEnabled: true },
  });
  const service = {
    custom: {
      "serverless-dynamodb": {
        start: { host: "localhost", port, noStart: true, migrate: true, seed: true },
        seed: { all: { sources: [{ table: "serverless", sources: [seeds] }] } },
      },
    },
    provider: { stage: "dev" },
    resources: { Resources: { Files: { Type: "AWS::DynamoDB::Table", Properties } } },
  };
  process.chdir("/"); // seeds are looked for below the working folder
  const said = [];
  const cli = { log: (text) => said.push(text) };
  const plugin = new Plugin({ service, cli, config: {} }, { stage: "dev" });
  await plugin.hooks["before:offline:start:init"]();
  await plugin.hooks["dynamodb:migrate:migrateHandler"]();
  assert.deepEqual(said, [
    "DynamoDB - created table serverless",
    "DynamoDB - Warn - table serverless already exists",
  ]);
  const client = new DynamoDB({ endpoint, region: "localhost", credentials });
  assert.equal((await client.scan({ TableName: "serverless", Select: "COUNT" })).Count, 30);
});
