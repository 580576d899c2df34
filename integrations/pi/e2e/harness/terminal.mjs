// A real terminal for pi's own screen: tmux, driven by keys, read as text.
import { execFileSync } from "node:child_process";
import { NODE } from "./published.mjs";

const WAIT_MS = 60_000;
const POLL_MS = 100;
let count = 0;

export class Terminal {
	constructor(world, options = {}) {
		this.socket = `readproof-${process.pid}-${++count}`;
		this.world = world;
		const argv = [NODE, ...world.arguments(options)];
		const variables = Object.entries(world.environment(options.env)).map(([name, value]) => `${name}=${value}`);
		const command = ["exec", "env", "-i", ...variables, ...argv].map(quote).join(" ").replace("'exec'", "exec");
		this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "150", "-c", world.cwd, command);
	}

	#tmux(...args) {
		return execFileSync("tmux", ["-L", this.socket, ...args], { encoding: "utf8", env: { PATH: process.env.PATH, HOME: this.world.home, TERM: "xterm-256color", LANG: "C.UTF-8" } });
	}

	/** The screen, tall enough for what the tests show; pi itself clears what scrolls off. */
	screen() {
		return this.#tmux("capture-pane", "-p", "-J");
	}

	/**
	 * Types a line as a person does: sees it on the screen, presses Enter, and presses again while nothing comes of it. A screen
	 * that is still being set up loses keys.
	 */
	async type(text, came) {
		const end = Date.now() + WAIT_MS;
		const flat = (screen) => screen.replace(/\s/g, "");
		const typed = flat(text).slice(-24);
		// The same line may stand there from before.
		const count = () => flat(this.screen()).split(typed).length;
		for (const before = count(); count() <= before;) {
			if (Date.now() > end) throw new Error(`never taken: ${text}\n${this.screen()}`);
			this.#tmux("send-keys", "C-u");
			this.#tmux("send-keys", "-l", text);
			await this.#wait(2_000, () => count() > before);
		}
		do this.#tmux("send-keys", "Enter");
		while (!(await this.#wait(5_000, () => came(this.screen()))) && Date.now() < end);
	}

	async #wait(ms, done) {
		for (const end = Date.now() + ms; ; await new Promise((resolve) => setTimeout(resolve, POLL_MS))) {
			if (done()) return true;
			if (Date.now() > end) return false;
		}
	}

	/** Presses keys, again while nothing comes of it. */
	async press(key, came) {
		const end = Date.now() + WAIT_MS;
		do this.keys(key);
		while (!(await this.#wait(5_000, () => came(this.screen()))) && Date.now() < end);
		return this.until(came);
	}

	keys(...names) {
		this.#tmux("send-keys", ...names);
	}

	/** Waits until the screen has `wanted`; a terminal has no event for that. */
	async until(wanted) {
		const end = Date.now() + WAIT_MS;
		for (;;) {
			const screen = this.screen();
			if (typeof wanted === "function" ? wanted(screen) : screen.includes(wanted)) return screen;
			if (Date.now() > end) throw new Error(`never on the screen: ${wanted}\n${screen}`);
			await new Promise((resolve) => setTimeout(resolve, POLL_MS));
		}
	}

	close() {
		try {
			this.#tmux("kill-server");
		} catch {
			// Already gone: pi has left and tmux with it.
		}
	}
}

const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;
