// Finds the `readproof` executable. Never where a cloned repository could put one: not in the project's own settings,
// not in the working directory, not through a relative PATH entry.

import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { Failure } from "./failure.ts";
import { isRecord } from "./wire.ts";

const NAME = process.platform === "win32" ? "readproof.exe" : "readproof";
/** In the package, or in the clone that the package is a part of. */
const BESIDE_PACKAGE = ["bin", "../../target/release", "../../target/debug"];

export interface Places {
  /** `--readproof-bin`, if it was given. */
  flag: string | undefined;
  /** The directory pi runs in; relative paths a person typed start here, and nothing is searched here. */
  cwd: string;
  packageDir: string;
  env: NodeJS.ProcessEnv;
}

export function locate(places: Places): string | Failure {
  const { flag, cwd, env, packageDir } = places;
  const agentDir = agentDirectory(env);
  const settings = join(agentDir, "settings.json");
  if (flag) return named("--readproof-bin", flag, cwd, env);
  const setting = settingIn(settings);
  if (setting) return named(`"readproof.bin" in ${settings}`, setting, agentDir, env);
  if (env.READPROOF_BIN) return named("READPROOF_BIN", env.READPROOF_BIN, cwd, env);
  const found = besidePackage(packageDir) ?? onPath(env, cwd);
  return (
    found ??
    new Failure(
      "missing",
      "no readproof program found beside the package or on PATH; build it with `cargo build --release` or set READPROOF_BIN",
    )
  );
}

/** A place that a person named is the place: a mistake there is said, not searched around. */
function named(by: string, value: string, base: string, env: NodeJS.ProcessEnv): string | Failure {
  const key = `missing ${by}`;
  if (!/[/\\]/.test(value))
    return new Failure(key, `${by} is "${value}", which is no path; give the path of the readproof program`);
  const home = value.replace(/^~(?=[/\\])/, env.HOME || homedir());
  const path = resolve(base, home);
  return isExecutable(path) ? path : new Failure(key, `${by} names ${path}, which is no program that can be run`);
}

function agentDirectory(env: NodeJS.ProcessEnv): string {
  const home = env.HOME || homedir();
  return env.PI_CODING_AGENT_DIR?.replace(/^~(?=$|[/\\])/, home) || join(home, ".pi", "agent");
}

function settingIn(file: string): string | undefined {
  try {
    const settings: unknown = JSON.parse(readFileSync(file, "utf8"));
    const ours = isRecord(settings) ? settings.readproof : undefined;
    return isRecord(ours) && typeof ours.bin === "string" ? ours.bin : undefined;
  } catch {
    // No settings, or some that pi itself complains about.
    return undefined;
  }
}

function besidePackage(packageDir: string): string | undefined {
  let real = packageDir;
  try {
    // Linked packages lie beside their clone's `target` only where they really are.
    real = realpathSync(packageDir);
  } catch {}
  return BESIDE_PACKAGE.map((folder) => join(real, folder, NAME)).find(isExecutable);
}

function onPath(env: NodeJS.ProcessEnv, cwd: string): string | undefined {
  const folders = (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && resolve(folder) !== resolve(cwd));
  return folders.map((folder) => join(folder, NAME)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
