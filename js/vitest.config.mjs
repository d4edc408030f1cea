import { defineConfig } from "vitest/config";
import { figureModulesInTests } from "./figure_modules.mjs";

export default defineConfig({
  plugins: [figureModulesInTests],
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/timers_end_with_their_file.ts"],
    maxWorkers: 2,
    // The test files of a process share the modules under test, which would otherwise load for each
    // file.
    isolate: false,
    // A busy machine makes every test slow, so only a hanging test should fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Tests use the build of lit-html with additional checks, which prints a warning about itself.
    onConsoleLog: (log) => !log.includes("Lit is in dev mode"),
  },
});
