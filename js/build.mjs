// One ES module and one style sheet per figure, written into the Python package; the result is committed.
// `--outdir=DIR` writes elsewhere (the test that compares), `--watch` rebuilds on each change.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";
import { figureModules, figures } from "./figure_modules.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const argument = (name) =>
  process.argv.find((value) => value.startsWith(`--${name}=`))?.slice(name.length + 3);

/** A figure without a style sheet has the style that all figures share. */
const styleOf = (name) =>
  existsSync(resolve(here, `src/${name}/widget.css`))
    ? `src/${name}/widget.css`
    : "src/shared/root.css";

/** The module and the style sheet of a figure have the name of its folder. */
const entryPoints = [
  ...figures.flatMap((name) =>
    [`src/${name}/widget.ts`, styleOf(name)].map((source) => ({ in: source, out: name })),
  ),
  ...["ts", "css"].map((suffix) => ({ in: `src/page/start.${suffix}`, out: "standalone" })),
  { in: "src/picture/start.ts", out: "picture" },
];

/** Without the indentation of templates: HTML reads any white space as one space. */
const unindented = (text) => text.replace(/\n +/g, "\n");

/**
 * Every run of a cell imports its widget's module anew, and a page keeps each module that it ever imported: its text, its
 * functions, its compiled code. So all copies of a module share what the first one made.
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
          // Browsers compile a declared function when it is called: a further copy is not compiled.
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
  // A module that awaits at its top level may miss every later message from the kernel: refuse it.
  supported: { "top-level-await": false },
  // Escapes for non-ASCII text: Chromium keeps a module's text for the life of the page, in half the memory where
  // it is Latin-1, and each run of a cell loads the module again.
  charset: "ascii",
  // The licence of lit-html asks that every copy names its holder.
  legalComments: "eof",
  // Notebook pages can hold an AMD loader, and a bundled package that finds one exports itself there.
  define: { "process.env.NODE_ENV": '"production"', "define.amd": "false" },
  logLevel: process.argv.includes("--quiet") ? "warning" : "info",
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context({ ...options, minify: false, sourcemap: "inline" })).watch();
} else {
  await esbuild.build(options);
}
