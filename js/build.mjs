// Build one ES module and one style sheet per figure into the Python package; the result is
// committed. `--outdir=DIR` writes to another folder (for the test that compares), and `--watch`
// rebuilds on each change.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { figureModules, figures } from "./figure_modules.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const argument = (name) =>
  process.argv.find((value) => value.startsWith(`--${name}=`))?.slice(name.length + 3);

/** Return the style sheet of a figure; default: the shared one. */
const styleOf = (name) =>
  existsSync(resolve(here, `src/${name}/widget.css`))
    ? `src/${name}/widget.css`
    : "src/shared/root.css";

/** The module and the style sheet of a figure are named after its folder. */
const entryPoints = [
  ...figures.flatMap((name) =>
    [`src/${name}/widget.ts`, styleOf(name)].map((source) => ({ in: source, out: name })),
  ),
  ...["ts", "css"].map((suffix) => ({ in: `src/page/start.${suffix}`, out: "standalone" })),
  { in: "src/picture/start.ts", out: "picture" },
];

/** Remove the indentation of templates: HTML reads any white space as one space. */
const unindented = (text) => text.replace(/\n +/g, "\n");

/**
 * Make all copies of a module share the result of the first copy. Every run of a cell imports the
 * module of its widget again, and a page keeps the text, functions and compiled code of every
 * module that it has imported.
 */
const sharing = {
  name: "sharing",
  setup(build) {
    build.onEnd(({ outputFiles }) => {
      for (const { path, text } of outputFiles ?? []) {
        const name = basename(path);
        const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
        const shared = `globalThis[Symbol.for("attnwidget ${name} ${version}")]`;
        const alone = /^(standalone|picture)\.js$|\.css$/.test(name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(
          path,
          // Browsers compile a function when it is called, so they do not compile further copies.
          alone
            ? text
            : `export default(${shared}??=makeBundle()).default;function makeBundle(){${unindented(text)}return bundle}\n`,
        );
      }
    });
  },
};

const options = {
  absWorkingDir: here,
  entryPoints,
  outdir: argument("outdir") ?? resolve(here, "../attnwidget/widgets/static"),
  bundle: true,
  format: "iife",
  globalName: "bundle",
  write: false,
  plugins: [figureModules, sharing],
  target: ["es2022"],
  minify: true,
  // Refuse modules with a top-level await: such a module may miss all later messages from the
  // kernel.
  supported: { "top-level-await": false },
  // Escape non-ASCII text: Chromium keeps the text of a module for the life of the page, in half
  // the memory if it is Latin-1, and each run of a cell loads the module again.
  charset: "ascii",
  // The license of lit-html requires that every copy names the copyright holder.
  legalComments: "eof",
  // Notebook pages may have an AMD loader, to which a bundled package would export itself.
  define: { "process.env.NODE_ENV": '"production"', "define.amd": "false" },
  logLevel: process.argv.includes("--quiet") ? "warning" : "info",
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context({ ...options, minify: false, sourcemap: "inline" })).watch();
} else {
  await esbuild.build(options);
}
