// Finds the `readproof` executable. Never where a cloned repository could put one: not in the project's own settings,
// not in the repository pi runs in, not through a relative PATH entry.

import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { Failure } from "./failure.ts";
import { isRecord } from "./wire.ts";

const NAME = process.platform === "win32" ? "readproof.exe" : "readproof";
const IN_PACKAGE = ["bin"];
/** In the clone that the package is a part of. */
const IN_CLONE = ["../../target/release", "../../target/debug"];

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
  // Two folders above a package that was installed into a repository, that repository begins.
  const isClone = real.replace(/[/\\]$/, "").endsWith(join("integrations", "pi")) && isFile(join(real, "../../Cargo.toml"));
  return [...IN_PACKAGE, ...(isClone ? IN_CLONE : [])].map((folder) => join(real, folder, NAME)).find(isExecutable);
}

function onPath(env: NodeJS.ProcessEnv, cwd: string): string | undefined {
  const project = repository(cwd);
  const inProject = (folder: string) => {
    const path = relative(project, resolve(folder));
    return path === "" || !(path.startsWith("..") || isAbsolute(path));
  };
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder) && !inProject(folder));
  return folders.map((folder) => join(folder, NAME)).find(isExecutable);
}

/** The nearest folder that git keeps, or the one pi runs in. */
function repository(cwd: string): string {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (dirname(folder) === folder) return resolve(cwd);
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}
