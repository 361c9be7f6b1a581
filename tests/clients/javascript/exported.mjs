/** Asks the patterns of exported models, as questions.json has them; writes answers.json. */
import { readFileSync, writeFileSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { config } from "./support.mjs";

const client = new DynamoDBClient(config);
const answers = [];
for (const { module, open, method, args } of JSON.parse(readFileSync("questions.json", "utf8"))) {
  const table = (await import(`./exported/${module}.js`))[open](client);
  try {
    answers.push({ answer: await table[method](args) });
  } catch (error) {
    answers.push({ [error instanceof RangeError ? "refused" : "failed"]: error.message });
  }
}
const plain = (_, value) =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
writeFileSync("answers.json", JSON.stringify(answers, plain));
