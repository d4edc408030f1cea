import { defineConfig } from "vitest/config";
import { figureModulesInTests } from "./figure_modules.mjs";

export default defineConfig({
  plugins: [figureModulesInTests],
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/timers_end_with_their_file.ts"],
    maxWorkers: 2,
    // The files of a process share the modules that they test, which are else read for each file.
    isolate: false,
    // A busy machine makes every test slow: only a test that hangs fails.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Tests run the checks of lit-html that its other build leaves out; it warns of that.
    onConsoleLog: (log) => !log.includes("Lit is in dev mode"),
  },
});
