import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import test from "node:test";
import { start } from "./index.js";

async function call(server, operation, request) {
  const answer = await fetch(server.url, {
    method: "POST",
    headers: {
      "Content-Type": "application/x-amz-json-1.0",
      "X-Amz-Target": `DynamoDB_20120810.${operation}`,
      "X-Amz-Date": "20261121T100000Z",
      Authorization:
        "AWS4-HMAC-SHA256 Credential=x/20261121/us-east-1/dynamodb/aws4_request, " +
        "SignedHeaders=host, Signature=00",
    },
    body: JSON.stringify(request),
  });
  return answer.json();
}

const table = (name) => ({
  TableName: name,
  AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
  KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  BillingMode: "PAY_PER_REQUEST",
});

test("a server goes back to the start and to a snapshot", async () => {
  const server = await start();
  try {
    await call(server, "CreateTable", table("first"));
    await server.keep("one");
    await call(server, "CreateTable", table("second"));
    await server.load("one");
    assert.deepEqual((await call(server, "ListTables", {})).TableNames, ["first"]);
    await server.reset();
    assert.deepEqual((await call(server, "ListTables", {})).TableNames, []);
    await assert.rejects(server.load("two"), /no snapshot of that name/);
  } finally {
    await server.stop();
  }
  await assert.rejects(fetch(server.url));
});

test("a server that cannot start says why", async () => {
  await assert.rejects(start({ tables: "no-such-file" }), /no-such-file: no such file/);
  await assert.rejects(start({ command: ["no-such-program"] }), /no-such-program/);
});

test("a server ends with its parent, even if that is killed", async () => {
  const program = `import { start } from "./index.js"; console.log((await start()).url); setInterval(() => {}, 1000)`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(parent.stdout, "data");
  const url = line.toString().trim();
  assert.equal((await fetch(url)).status, 200);
  parent.kill("SIGKILL");
  for (let tries = 0; tries < 200; tries++) {
    try {
      await fetch(url);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("the server still answers");
});
