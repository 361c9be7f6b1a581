"""The TypeScript functions in every export for ElectroDB, which make keys and read items."""

RUNTIME = r"""
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Entity } from "electrodb";

type Item = Record<string, unknown>;
type Whole = number | bigint | string;
/** A date or time: a Date, or a text in ISO 8601 and UTC, or the beginning of such a text. */
export type Moment = Date | string;

const HIGHEST = "\u{10ffff}";

// ---- the texts of keys ----

/** A text in front of `delimiter`, which it cannot contain. */
function text(value: string, delimiter = ""): string {
  if (value === "") throw new RangeError("a part of a key cannot be an empty text");
  if (delimiter !== "" && value.includes(delimiter)) {
    throw new RangeError(`${JSON.stringify(value)} contains the delimiter ${delimiter}`);
  }
  return value;
}

function beginning(value: string, length: number): string {
  return [...text(value)].slice(0, length).join("");
}

const MOMENT = new RegExp(
  "^(\\d{4})-(\\d\\d)(?:-(\\d\\d)(?:T(\\d\\d)(?::(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{1,6}))?)?)?" +
    "(?:Z|\\+00:00)?)?)?$",
);

/** A moment with all of its parts: 2024-10-14T01:01:01.000000Z. */
function moment(value: Moment): string {
  const given = value instanceof Date ? value.toISOString() : value;
  const read = MOMENT.exec(given);
  if (read === null) throw new RangeError(`${JSON.stringify(given)} is not a time in UTC`);
  const [, year, month, day = "01", hour = "00", minute = "00", second = "00", rest = ""] = read;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${rest.padEnd(6, "0")}Z`;
}

const PLACES: Record<string, [number, number]> = {
  "%Y": [0, 4], "%m": [5, 7], "%d": [8, 10],
  "%H": [11, 13], "%M": [14, 16], "%S": [17, 19], "%f": [20, 26],
};

/** A moment in a format of Python's strftime. */
function time(value: Moment, format: string): string {
  const whole = moment(value);
  return format.replace(/%[YmdHMSf]/g, (part) => whole.slice(...PLACES[part]));
}

/** The number times 10**digits. If it has more places, it is rounded up or down, or refused. */
function scaled(value: Whole, digits: number, round: "up" | "down" | "exact"): bigint {
  const read = /^(-?)(\d+)(?:\.(\d*))?$/.exec(String(value));
  if (read === null) throw new RangeError(`${value} is not a plain decimal number`);
  const places = read[3] ?? "";
  const kept = BigInt(read[2] + places.slice(0, digits).padEnd(digits, "0"));
  const more = /[1-9]/.test(places.slice(digits));
  const negative = read[1] !== "";
  if (more && round === "exact") {
    throw new RangeError(`${value} has more than ${digits} decimal places`);
  }
  const floor = negative ? -kept - (more ? 1n : 0n) : kept;
  return more && round === "up" ? floor + 1n : floor;
}

/** Numbers of fixed width from `least` to `most`, with `digits` digits after the point. */
interface Width {
  width: number;
  digits: number;
  least: bigint;
  most: bigint;
  descending: boolean;
}

function shown(value: bigint, format: Width): string {
  if (value < format.least || value > format.most) {
    throw new RangeError(`${value} does not fit ${format.width} characters of a key`);
  }
  const placed = format.descending ? format.most - value : value - format.least;
  const { width, digits } = format;
  const text = placed.toString().padStart(width - (digits > 0 ? 1 : 0), "0");
  return digits > 0 ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text;
}

function fixed(value: Whole, format: Width): string {
  return shown(scaled(value, format.digits, "exact"), format);
}

// ---- reading ----

/** The range of a sort key. It includes both ends, except those in `except`. */
interface Sort {
  begins?: string;
  from?: string | number;
  to?: string | number;
  except?: (string | number)[];
}
interface Partition {
  index: string;
  key: Item;
  sort: string | null;
  test: Sort;
}
interface Page {
  data: { Items: Item[] };
  cursor: string | null;
}
interface Options {
  order?: "asc" | "desc";
  consistent?: boolean;
  limit?: number;
  where?: (attributes: any, operations: any) => string;
}

/** The ends of a range after a known text: absent if open, null if the range is empty. */
interface Ends {
  low?: string | null;
  high?: string | null;
  lowMore?: string;
  highMore?: string;
  except?: boolean;
}

function between(known: string, ends: Ends): Sort | undefined {
  const { low, high, lowMore = "", highMore = "" } = ends;
  if (low === null || high === null) return undefined;
  const from = low === undefined ? known : known + low + lowMore;
  const to = high === undefined ? known + HIGHEST : known + high + highMore;
  return { from: from === "" ? undefined : from, to, except: ends.except ? [known + high] : [] };
}

/** An end of a range of numbers of fixed width. */
function end(value: Whole, format: Width, side: "low" | "high", excluded: boolean): string | null {
  const low = side === "low";
  const exact = scaled(value, format.digits, low ? "up" : "down");
  const other = scaled(value, format.digits, low ? "down" : "up");
  let found = excluded && exact === other ? exact + (low ? 1n : -1n) : exact;
  if (low && found < format.least) found = format.least;
  if (!low && found > format.most) found = format.most;
  return found < format.least || found > format.most ? null : shown(found, format);
}

/** Leaves out partitions whose range is empty. */
function partitions(asked: (Omit<Partition, "test"> & { test: Sort | undefined })[]): Partition[] {
  return asked.filter((one): one is Partition => one.test !== undefined);
}

async function* pages(entity: any, asked: Partition, options: Options): AsyncGenerator<Item[]> {
  const { sort, test } = asked;
  let chain = entity.query[asked.index](asked.key);
  if (sort !== null) {
    const at = (value: string | number): Item => ({ [sort]: value });
    const { from, to } = test;
    if (from !== undefined && to !== undefined && compared(from, to) > 0) return;
    if (test.begins !== undefined) chain = chain.begins(at(test.begins));
    else if (from !== undefined && to !== undefined) chain = chain.between(at(from), at(to));
    else if (from !== undefined) chain = chain.gte(at(from));
    else if (to !== undefined) chain = chain.lte(at(to));
  }
  const { where, ...rest } = options;
  if (where !== undefined) chain = chain.where(where);
  let cursor: string | null = null;
  do {
    const page: Page = await chain.go({ ...rest, data: "raw", cursor });
    const stays = (item: Item) => sort === null || !test.except?.includes(item[sort] as string);
    yield page.data.Items.filter(stays);
    cursor = page.cursor;
  } while (cursor !== null);
}

/** The items of several partitions in the order of their sort keys. */
async function all(entity: any, asked: Partition[], options: Options): Promise<Item[]> {
  const found: Item[] = [];
  for (const partition of asked) {
    for await (const page of pages(entity, partition, options)) found.push(...page);
  }
  const sort = asked[0]?.sort ?? null;
  if (asked.length < 2 || sort === null) return found;
  const sign = options.order === "desc" ? -1 : 1;
  return found.sort((a, b) => sign * compared(a[sort], b[sort]));
}

function compared(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

/** Maps the stored name of an entity to the function that makes its items from stored items. */
type Makers = Record<string, (raw: Item) => unknown>;

/** Leaves out items that have expired. */
function living(raws: Item[], hides: string | null): Item[] {
  const now = Date.now() / 1000;
  if (hides === null) return raws;
  return raws.filter((raw) => typeof raw[hides] !== "number" || (raw[hides] as number) > now);
}

function read<T>(raws: Item[], wanted: string[], makers: Makers, type: string | null): T[] {
  const found: unknown[] = [];
  for (const raw of raws) {
    const name = type === null ? wanted[0] : String(raw[type]);
    if (wanted.includes(name)) found.push(makers[name](raw));
  }
  return found as T[];
}

function picked<T extends object, K extends keyof T>(item: T, names: K[]): Pick<T, K> {
  const found: Partial<T> = {};
  for (const name of names) if (name in item) found[name] = item[name];
  return found as Pick<T, K>;
}

/** The items with these keys that exist, in the order of the keys. */
async function getAll(entity: any, keys: Item[]): Promise<Item[]> {
  const found = new Map<string, Item | undefined>();
  for (const key of keys) found.set(JSON.stringify(key), undefined);
  await Promise.all([...found.keys()].map(async (name) => {
    const page = await entity.get(JSON.parse(name)).go({ data: "raw" });
    found.set(name, page.data.Item);
  }));
  return keys.map((key) => found.get(JSON.stringify(key))).filter((item) => item !== undefined);
}

async function first<T>(
  entity: any, asked: Partition[], options: Options, reads: (raws: Item[]) => T[],
): Promise<T | null> {
  if (asked.length > 1) return reads(await all(entity, asked, options))[0] ?? null;
  if (asked.length === 0) return null;
  for await (const page of pages(entity, asked[0], options)) {
    const found = reads(page);
    if (found.length > 0) return found[0];
    if (options.limit !== undefined) return null;
  }
  return null;
}

function distinct<T>(values: Iterable<T>): T[] {
  return [...new Set(values)].sort((a, b) => compared(JSON.stringify(a), JSON.stringify(b)));
}
"""
