/**
 * Return a function that makes element ids for one widget. A random prefix is needed: two widgets
 * can share a page, and may or may not share this module's scope.
 */
export function elementIds(): (name: string | number) => string {
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  return (name) => `${prefix}-${name}`;
}
