// Calls that a person must approve, with every client that can be asked and without asking: a yes makes the call, a no leaves the
// file, and a client that cannot ask leaves the call waiting for `readproof approvals`.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const NAME = "ask-first.txt";
const TEXT = "a person decides\nabout this file\n";
const KEY = "the key of whoever approves";
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const CALL = { tool: "delete_file", args: { filepath: NAME, expected_hash: sha256(TEXT) } };
const YES = { action: "accept", content: { decision: "approve" } };
const NO = { action: "decline" };

/** Tries one client in one era. `make` makes a call over a connection of its own: the result, and the questions that were asked. */
export async function approvals({ program, scratch, make, judge }) {
	const workspace = fs.mkdtempSync(path.join(scratch, "approvals-"));
	const config = fs.mkdtempSync(path.join(scratch, "config-"));
	fs.mkdirSync(path.join(config, "readproof"));
	fs.writeFileSync(path.join(config, "readproof/config.toml"), `approver_key = "${sha256(KEY)}"\n`);
	const state = ["--set", `state_dir=${path.join(scratch, "state")}`];
	const server = { command: program, args: ["mcp", "--workspace", workspace, ...state, "--tools", "files"], cwd: workspace };
	const file = path.join(workspace, NAME);
	const put = () => fs.writeFileSync(file, TEXT);
	const made = async (answer) => {
		const { result, questions } = await make({ server, call: CALL, answer });
		return { code: codeOf(result), id: result._meta?.["readproof/contract"]?.error?.id, there: fs.existsSync(file), questions };
	};

	put();
	const waits = await made(undefined);
	judge("a client that cannot ask", waits, same([waits.code, waits.there, waits.questions.length], ["APPROVAL_NEEDED", true, 0]));
	const env = { PATH: process.env.PATH, XDG_CONFIG_HOME: config, READPROOF_APPROVER_KEY: KEY };
	const words = ["approvals", "approve", String(waits.id), "--workspace", workspace, ...state];
	await promisify(execFile)(program, words, { env }).catch((error) => judge("readproof approvals approve", error.stderr, "that it is approved"));
	const approved = await made(undefined);
	judge("the same call after it was approved", approved, same([approved.code, approved.there], [undefined, false]));

	put();
	const accepted = await made(YES);
	judge("a person says yes", accepted, same([accepted.code, accepted.there, accepted.questions.length], [undefined, false, 1]));
	const question = accepted.questions[0] ?? "";
	judge("the question", question, ["delete", NAME, "-about this file"].every((part) => question.includes(part)) ? undefined : "what, where and the diff");
	put();
	const declined = await made(NO);
	judge("a person says no", declined, same([declined.code, declined.there, declined.questions.length], ["DENIED", true, 1]));
	return 4;
}

const codeOf = (result) => (result.isError ? result._meta?.["readproof/contract"]?.error?.code : result.thrown);
const same = (came, expected) => (JSON.stringify(came) === JSON.stringify(expected) ? undefined : JSON.stringify(expected));
