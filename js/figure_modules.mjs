// Two generated modules: "virtual:figures/picture" and "virtual:figures/page". Each exports a
// record of the exports of every figure's `picture.ts` or `page.ts`, by folder name.
import { existsSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const sources = resolve(dirname(fileURLToPath(import.meta.url)), "src");
const isIn = (folder, file) => existsSync(resolve(sources, folder, file));

/** Figures: folders with a `widget.ts`. */
export const figures = readdirSync(sources)
  .sort()
  .filter((folder) => isIn(folder, "widget.ts"));

const PREFIX = "virtual:figures/";
/** Name of the export of a figure's file, by file name. */
const EXPORTS = { picture: "drawPicture", page: "pageModel" };

/** Return the source of a module, with an import for each figure that has such a file. */
function textOf(module) {
  const file = module.slice(PREFIX.length);
  const folders = figures.filter((folder) => isIn(folder, `${file}.ts`));
  const imports = folders.map((folder) => {
    const path = JSON.stringify(resolve(sources, folder, `${file}.ts`));
    return `import { ${EXPORTS[file]} as ${folder} } from ${path};`;
  });
  return [...imports, `export default { ${folders.join(", ")} };`].join("\n");
}

/** Plugin for `build.mjs`. */
export const figureModules = {
  name: "figure-modules",
  setup(build) {
    build.onResolve({ filter: /^virtual:figures\// }, ({ path }) => ({
      path,
      namespace: "figure-modules",
    }));
    build.onLoad({ filter: /.*/, namespace: "figure-modules" }, ({ path }) => ({
      contents: textOf(path),
      resolveDir: sources,
    }));
  },
};

/** Plugin for `vitest.config.mjs`. */
export const figureModulesInTests = {
  name: "figure-modules",
  resolveId: (id) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
  load: (id) => (id.startsWith(`\0${PREFIX}`) ? textOf(id.slice(1)) : undefined),
};
