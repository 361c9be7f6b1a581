import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import test, { after } from "node:test";
import { config } from "./support.mjs";

const program = new URL("node_modules/dynamodb-admin/dist/dynamodb-admin.js", import.meta.url);
const admin = spawn(
  process.execPath,
  [program.pathname, "--host=127.0.0.1", "--port=0", `--dynamo-endpoint=${config.endpoint}`],
  { stdio: ["ignore", "pipe", "inherit"] },
);
after(() => admin.kill());
const site = await new Promise((found, failed) => {
  admin.on("exit", () => failed(new Error("dynamodb-admin has ended")));
  createInterface(admin.stdout).on("line", (line) => {
    const match = line.match(/listening on (http:\S+)/);
    if (match) found(match[1]);
  });
});

async function ask(method, path, body, expected = 200) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(site + path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, expected, text);
  return text;
}
const json = async (...request) => JSON.parse(await ask(...request));
const encoded = (value) => encodeURIComponent(JSON.stringify(value));

test("make a table with indexes, and list it", async () => {
  const capacity = { ReadCapacityUnits: 3, WriteCapacityUnits: 3 };
  const TableDefinition = {
    TableName: "admin",
    HashAttributeName: "pk",
    HashAttributeType: "S",
    RangeAttributeName: "n",
    RangeAttributeType: "N",
    ...capacity,
  };
  const index = (IndexName, IndexType, HashAttributeName, RangeAttributeName) => ({
    IndexName,
    IndexType,
    HashAttributeName,
    HashAttributeType: "S",
    RangeAttributeName,
    RangeAttributeType: "S",
    ...capacity,
  });
  const SecondaryIndexes = [
    index("kinds", "global", "kind"),
    index("names", "local", "pk", "name"),
  ];
  await ask("POST", "/create-table", { TableDefinition, SecondaryIndexes }, 204);
  assert.match(await ask("GET", "/"), /tables\/admin/);
  const [table] = await json("GET", "/api/tables");
  assert.equal(table.TableName, "admin");
  assert.equal(table.ProvisionedThroughput.ReadCapacityUnits, 3);
  const meta = await ask("GET", "/tables/admin/meta");
  assert.match(meta, /kinds/);
  assert.match(meta, /names/);
  assert.match(await ask("GET", "/tables/admin/ttl"), /DISABLED/);
});

test("put items, see, change and delete them", async () => {
  for (let n = 0; n < 30; n++) {
    const item = { pk: "a", n, kind: n % 2 ? "odd" : "even", name: `n${n}` };
    await ask("PUT", "/tables/admin/add-item", item);
  }
  assert.match(await ask("GET", "/tables/admin/items/a,7"), /n7/);
  await ask("PUT", "/tables/admin/items/a,7", { pk: "a", n: 7, kind: "odd", name: "seven" });
  assert.match(await ask("GET", "/tables/admin/get?hash=a&range=7"), /seven/);
  await ask("DELETE", "/tables/admin/items/a,8", undefined, 204);
});

test("scan in pages, query with conditions", async () => {
  assert.match(await ask("GET", "/tables/admin"), /admin/);
  const first = await json("GET", "/tables/admin/items");
  assert.deepEqual(
    first.Items.map(({ n }) => n),
    [0, 1, 2, 3, 4, 5, 6, 7, ...Array.from({ length: 17 }, (_, n) => n + 9)],
  );
  const rest = await json("GET", `/tables/admin/items?startKey=${first.nextKey}&pageNum=2`);
  assert.deepEqual(
    rest.Items.map(({ n }) => n),
    [26, 27, 28, 29],
  );
  const filters = encoded({
    kind: { type: "S", operator: "=", value: "odd" },
    name: { type: "S", operator: "begins_with", value: "n1" },
  });
  const index = "operationType=query&queryableSelection=kinds";
  const found = await json("GET", `/tables/admin/items?${index}&filters=${filters}`);
  assert.deepEqual(
    found.Items.map(({ n }) => n).sort((a, b) => a - b),
    [1, 11, 13, 15, 17, 19],
  );
});

test("empty the table, then delete it", async () => {
  await ask("DELETE", "/tables/admin/all");
  assert.deepEqual((await json("GET", "/tables/admin/items")).Items, []);
  await ask("DELETE", "/tables/admin", undefined, 204);
  assert.deepEqual(await json("GET", "/api/tables"), []);
});
