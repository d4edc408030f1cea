/**
 * Ids of elements of one widget. Two widgets can share a page, and this module's scope may or may
 * not be shared between them.
 */
export function elementIds(): (name: string | number) => string {
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  return (name) => `${prefix}-${name}`;
}
