import type { Server } from "./index.js";

/** The server of this test file. */
export const server: Server;
