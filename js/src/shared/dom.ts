type Attributes = Record<string, string | number | boolean>;

/**
 * Append an element with attributes and children. Strings become text nodes, so that no token is
 * ever parsed as HTML.
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

/** Return a function that adds event listeners until the signal aborts. */
export const listening =
  (signal: AbortSignal) =>
  <K extends keyof HTMLElementEventMap>(
    target: HTMLElement,
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ) =>
    target.addEventListener(type, listener, { signal });
