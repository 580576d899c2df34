export interface RecordData {
	key: string;
	value: string;
	updated: string;
}

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>;
