/** An error in the data of a page; its message says which part is damaged. */
export class DamagedError extends Error {}

/** What stands in the place of a figure that cannot be shown. */
export function sentenceOf(error: unknown): string {
  const cause =
    error instanceof DamagedError ? error.message : "its data does not fit what the figure draws";
  return (
    `This figure cannot be shown: ${cause}. The page is damaged: save it again from ` +
    `the notebook.`
  );
}
