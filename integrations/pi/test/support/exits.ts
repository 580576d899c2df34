// A process like pi's: asks the program, never ends it (unless told to close), and must come to its end by itself, but
// not while it waits.

import { Program } from "../../src/program.ts";

const [bin, cwd, how] = process.argv.slice(2) as [string, string, string];
const program = new Program({
  locate: () => bin,
  timeoutMs: 10_000,
  onFailure: (failure) => console.error(failure.message),
});
const read = async (path: string) => console.log((await program.ask(cwd, () => ({ op: "read", path }))).text);

await read("a");
if (how === "idle") await new Promise((done) => setTimeout(done, 50));
await read("after 300");
if (how === "closed") program.close();
