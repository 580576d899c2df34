import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { locate } from "../src/binary.ts";
import { place } from "./support/place.ts";

function world() {
  const root = place();
  const program = (path: string) => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "#!/bin/sh\n");
    chmodSync(file, 0o755);
    return file;
  };
  const settings = (value: unknown, folder = "agent") => {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "settings.json"), typeof value === "string" ? value : JSON.stringify(value));
  };
  const packageDir = join(root, "clone/integrations/pi");
  const cwd = join(root, "project");
  mkdirSync(packageDir, { recursive: true });
  mkdirSync(cwd);
  writeFileSync(join(root, "clone/Cargo.toml"), "");
  const find = (env: NodeJS.ProcessEnv = {}, flag?: string, from = packageDir) =>
    locate({
      flag,
      cwd,
      packageDir: from,
      env: { HOME: root, PI_CODING_AGENT_DIR: join(root, "agent"), PATH: "", ...env },
    });
  return { root, program, settings, cwd, packageDir, find };
}

test("it is looked for by setting, environment, beside the package, on PATH, in that order", () => {
  const { root, program, settings, find } = world();
  const env = { READPROOF_BIN: join(root, "env/readproof"), PATH: join(root, "path") };
  expect(find()).toMatchObject({ key: "missing" });
  const onPath = program("path/readproof");
  expect(find({ PATH: env.PATH })).toBe(onPath);
  const places = [
    "clone/target/debug/readproof",
    "clone/target/release/readproof",
    "clone/integrations/pi/bin/readproof",
  ];
  for (const path of places) {
    const file = program(path);
    expect(find({ PATH: env.PATH })).toBe(file);
  }
  const inEnv = program("env/readproof");
  expect(find(env)).toBe(inEnv);
  const inSettings = program("agent/programs/readproof");
  settings({ readproof: { bin: "programs/readproof" } });
  expect(find(env)).toBe(inSettings);
  const byFlag = program("project/flag/readproof");
  expect(find(env, "flag/readproof")).toBe(byFlag);
});

test("a named place without a program is said, not searched around", () => {
  const { root, program, settings, find } = world();
  const PATH = join(root, "path");
  program("path/readproof");
  expect(find({ PATH, READPROOF_BIN: "/nowhere/readproof" })).toMatchObject({
    message: expect.stringContaining("READPROOF_BIN names /nowhere/readproof"),
  });
  expect(find({ PATH, READPROOF_BIN: "readproof" })).toMatchObject({ message: expect.stringContaining("is no path") });
  expect(find({ PATH, READPROOF_BIN: root })).toMatchObject({ message: expect.stringContaining("no program") });
  writeFileSync(join(root, "text"), "no program");
  expect(find({ PATH, READPROOF_BIN: join(root, "text") })).toMatchObject({
    message: expect.stringContaining("no program"),
  });
  settings({ readproof: { bin: "~/none" } });
  expect(find({ PATH })).toMatchObject({
    message: expect.stringMatching(/"readproof.bin" in .*settings.json names .*none/),
  });
  expect(find({ PATH }, "./none")).toMatchObject({ message: expect.stringContaining("--readproof-bin names") });
});

test("a home folder is understood, and settings that are none are none", () => {
  const { root, program, settings, find } = world();
  const file = program("own/readproof");
  for (const value of ["{", [], { readproof: "x" }, { readproof: { bin: 7 } }]) {
    settings(value);
    expect(find({ READPROOF_BIN: "~/own/readproof" })).toBe(file);
  }
  settings({ readproof: { bin: "~/own/readproof" } }, ".pi/agent");
  expect(find({ PI_CODING_AGENT_DIR: undefined, HOME: root })).toBe(file);
});

test("a repository cannot name the program or lie in its way", () => {
  const { root, program, settings, cwd, find } = world();
  program("project/readproof");
  program("project/bin/readproof");
  settings({ readproof: { bin: join(cwd, "bin/readproof") } }, "project/.pi");
  expect(find({ PATH: ["", ".", "bin", "./bin", cwd, `${cwd}/`].join(":") })).toMatchObject({ key: "missing" });
  const file = program("path/readproof");
  expect(find({ PATH: `.:${cwd}:${join(root, "path")}` })).toBe(file);
});

test("a linked package finds its clone", () => {
  const { root, program, packageDir, find } = world();
  const file = program("clone/target/release/readproof");
  symlinkSync(packageDir, join(root, "link"));
  expect(find({}, undefined, join(root, "link"))).toBe(file);
});

test("nothing of the repository that pi runs in is a program to run", () => {
  const { root, program, cwd, find } = world();
  mkdirSync(join(cwd, ".git"));
  program("project/node_modules/.bin/readproof");
  program("project/target/release/readproof");
  const installed = join(cwd, "node_modules/readproof-pi");
  mkdirSync(installed, { recursive: true });
  expect(find({ PATH: join(cwd, "node_modules/.bin") }, undefined, installed)).toMatchObject({ key: "missing" });
  const file = program("path/readproof");
  expect(find({ PATH: `${join(cwd, "node_modules/.bin")}:${join(root, "path")}` }, undefined, installed)).toBe(file);
});
