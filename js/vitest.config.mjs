import { defineConfig } from "vitest/config";
import { figureModulesInTests } from "./figure_modules.mjs";

export default defineConfig({
  plugins: [figureModulesInTests],
  test: { environment: "happy-dom", include: ["test/**/*.test.ts"], maxWorkers: 2 },
});
