// Figures check the theme again after up to 1.5 s. Timers that outlive the tests of a file would
// run without its document.

import { afterAll } from "vitest";

const begun = new Set<ReturnType<typeof setTimeout>>();
const begin = globalThis.setTimeout;

globalThis.setTimeout = ((...args: Parameters<typeof begin>) => {
  const timer = begin(...args);
  begun.add(timer);
  return timer;
}) as typeof setTimeout;

afterAll(() => {
  for (const timer of begun) clearTimeout(timer);
  begun.clear();
  globalThis.setTimeout = begin;
});
