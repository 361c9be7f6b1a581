// Runs the program that its arguments name until its stdin is closed, which also happens if the
// parent is killed: then no server stays behind.

import { spawn } from "node:child_process";

const [program, ...rest] = process.argv.slice(2);
const group = process.platform !== "win32";
const child = spawn(program, rest, { stdio: ["ignore", "inherit", "inherit"], detached: group });

function end() {
  try {
    if (group) process.kill(-child.pid, "SIGTERM");
    else child.kill();
  } catch {
    // it has ended
  }
}

process.stdin.resume().on("end", end).on("close", end).on("error", end);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
child.on("error", (error) => {
  console.error(error.message);
  process.exit(1);
});
child.on("exit", (code) => process.exit(code ?? 1));
