type Attributes = Record<string, string | number | boolean>;

/**
 * An element with attributes and children; strings become text nodes, so that no token is ever
 * parsed as HTML.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement | DocumentFragment,
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = parent.ownerDocument.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children);
  parent.append(node);
  return node;
}

/** Adds listeners that end with the signal. */
export const listening =
  (signal: AbortSignal) =>
  <K extends keyof HTMLElementEventMap>(
    target: HTMLElement,
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ) =>
    target.addEventListener(type, listener, { signal });
