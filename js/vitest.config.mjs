import { defineConfig } from "vitest/config";
import { figureModulesInTests } from "./figure_modules.mjs";

export default defineConfig({
  plugins: [figureModulesInTests],
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    maxWorkers: 2,
    // A test that passes on a quiet machine passes on a busy one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Tests run the checks of lit-html that its other build leaves out; it warns of that.
    onConsoleLog: (log) => !log.includes("Lit is in dev mode"),
  },
});
