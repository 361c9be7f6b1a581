// A setup file of vitest: each test file has an empty database, which the AWS SDK finds.
// HASHRANGE_TABLES names a file that declares the tables.

import { afterAll } from "vitest";
import { start } from "./index.js";

export const server = await start({ tables: process.env.HASHRANGE_TABLES });
Object.assign(process.env, server.env);
afterAll(() => server.stop());
