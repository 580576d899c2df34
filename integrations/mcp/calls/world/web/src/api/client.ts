import type { Fetch, RecordData } from "./types.js";

export const DEFAULT_RETRIES = 3;

export class ApiError extends Error {
	constructor(
		readonly status: number,
		message: string,
	) {
		super(message);
	}
}

export interface ClientOptions {
	baseUrl: string;
	retries?: number;
	fetch?: Fetch;
}

export class ApiClient {
	private readonly options: Required<ClientOptions>;

	constructor(options: ClientOptions) {
		this.options = { retries: DEFAULT_RETRIES, fetch: globalThis.fetch, ...options };
	}

	async getRecord(key: string): Promise<RecordData> {
		const response = await this.request(`/records/${encodeURIComponent(key)}`);
		return (await response.json()) as RecordData;
	}

	async putRecord(key: string, value: string): Promise<void> {
		await this.request(`/records/${encodeURIComponent(key)}`, {
			method: "PUT",
			body: JSON.stringify({ value }),
		});
	}

	private async request(path: string, init?: RequestInit): Promise<Response> {
		let last: unknown;
		for (let attempt = 0; attempt <= this.options.retries; attempt++) {
			try {
				const response = await this.options.fetch(this.options.baseUrl + path, init);
				if (response.ok) return response;
				if (response.status < 500) throw new ApiError(response.status, response.statusText);
				last = new ApiError(response.status, response.statusText);
			} catch (error) {
				if (error instanceof ApiError && error.status < 500) throw error;
				last = error;
			}
			await backoff(attempt);
		}
		throw last;
	}
}

export function backoff(attempt: number): Promise<void> {
	return new Promise((done) => setTimeout(done, 100 * 2 ** attempt));
}
