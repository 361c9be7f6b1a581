// Starts a hashrange server at a free port, waits until it answers, and ends it with this process.

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const GUARD = fileURLToPath(new URL("guard.js", import.meta.url));
const WAYS = [
  ["hashrange"],
  ["uvx", "hashrange"],
  ["pipx", "run", "hashrange"],
  ["python3", "-m", "hashrange"],
  ["python", "-m", "hashrange"],
];
const START_MILLISECONDS_MAX = 60_000; // uvx may have to download it first

let known;

/** The first way to run hashrange that works here. */
export function findCommand() {
  if (process.env.HASHRANGE_COMMAND) return process.env.HASHRANGE_COMMAND.split(" ");
  known ??= WAYS.find(([program, ...rest]) => {
    const { status } = spawnSync(program, [...rest, "--version"], { stdio: "ignore" });
    return status === 0;
  });
  if (!known) {
    throw new Error("hashrange is not installed: pip install hashrange, or install uv or pipx");
  }
  return known;
}

/** Start a server with an empty database in memory. */
export async function start({ command = findCommand(), tables, args = [] } = {}) {
  const token = randomBytes(24).toString("hex");
  const asked = ["serve", "--port", "0", "--admin-port", "0", "--resettable", ...args];
  if (tables) asked.push("--tables", tables);
  const child = spawn(process.execPath, [GUARD, ...command, ...asked], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, HASHRANGE_ADMIN_TOKEN: token, HASHRANGE_DB: "" },
  });
  const ended = once(child, "exit");
  child.unref();
  for (const stream of child.stdio) stream.unref();
  try {
    const [url, adminUrl] = await addresses(child);
    await healthy(url);
    return new Server(child, ended, url, adminUrl, token);
  } catch (error) {
    child.stdin.destroy();
    throw error;
  }
}

class Server {
  #child;
  #ended;
  #token;

  constructor(child, ended, url, adminUrl, token) {
    this.#child = child;
    this.#ended = ended;
    this.#token = token;
    this.url = url;
    this.adminUrl = adminUrl;
  }

  /** Variables by which the AWS SDKs find the server. */
  get env() {
    return {
      AWS_ENDPOINT_URL_DYNAMODB: this.url,
      AWS_ENDPOINT_URL_DYNAMODB_STREAMS: this.url,
      AWS_ACCESS_KEY_ID: "hashrange",
      AWS_SECRET_ACCESS_KEY: "hashrange",
      AWS_REGION: "us-east-1",
      AWS_DEFAULT_REGION: "us-east-1",
    };
  }

  /** Go back to the start: the tables of `tables`, without items. */
  reset() {
    return this.#post("/reset");
  }

  /** Take a snapshot, which replaces one of the same name. */
  keep(name) {
    return this.#post(`/snapshots/keep?name=${encodeURIComponent(name)}`);
  }

  /** Go back to a snapshot. */
  load(name) {
    return this.#post(`/snapshots/load?name=${encodeURIComponent(name)}`);
  }

  async stop() {
    this.#child.ref();
    this.#child.stdin.destroy();
    await this.#ended;
  }

  async #post(path) {
    const headers = { Authorization: `Bearer ${this.#token}` };
    const answer = await fetch(this.adminUrl + path, { method: "POST", headers });
    if (!answer.ok) throw new Error(`hashrange: ${(await answer.text()).trim()}`);
  }
}

/** The addresses in the first two lines that the server prints. */
async function addresses(child) {
  let said = "";
  child.stderr.on("data", (data) => (said = (said + data).slice(-10_000)));
  const late = setTimeout(() => child.stdin.destroy(), START_MILLISECONDS_MAX);
  const found = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const address = line.match(/http:\/\/[^\s]+/);
      if (address) found.push(address[0]);
      if (found.length === 2) return found;
    }
  } finally {
    clearTimeout(late);
    child.stdout.resume();
  }
  throw new Error(`hashrange did not start: ${said.trim()}`);
}

async function healthy(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`hashrange answers ${answer.status} at ${url}`);
  await answer.arrayBuffer();
}
