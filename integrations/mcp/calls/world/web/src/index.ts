export { ApiClient, ApiError } from "./api/client.js";
export type { RecordData } from "./api/types.js";
export { Button } from "./components/Button.js";
export { Table } from "./components/Table.js";
