/** Bytes of a base64 text. */
export const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** State as it was embedded, with every array's base64 text turned back into a view of its bytes. */
export function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) =>
    key === "view" && "dtype" in value && typeof inner === "string"
      ? [key, new DataView(bytesOf(inner).buffer)]
      : [key, revive(inner)],
  );
  return Object.fromEntries(entries);
}
