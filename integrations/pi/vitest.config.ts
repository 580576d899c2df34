import { defineConfig } from "vitest/config";

// The tests start processes, and machines are sometimes busy.
export default defineConfig({
  test: { include: ["test/*.test.ts"], maxWorkers: 2, minWorkers: 1, testTimeout: 30_000 },
});
