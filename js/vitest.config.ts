import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    maxWorkers: 2,
    // Tests run the checks of lit-html that its other build leaves out; it warns of that.
    onConsoleLog: (log) => !log.includes("Lit is in dev mode"),
  },
});
