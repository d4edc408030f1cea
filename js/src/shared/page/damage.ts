/** Error in the data of a page. Its message names the damaged part. */
export class DamagedError extends Error {}

/** Return the sentence that replaces a figure that cannot be shown. */
export function sentenceOf(error: unknown): string {
  const cause =
    error instanceof DamagedError ? error.message : "its data does not fit what the figure draws";
  return (
    `This figure cannot be shown: ${cause}. The page is damaged: save it again from ` +
    `the notebook.`
  );
}
