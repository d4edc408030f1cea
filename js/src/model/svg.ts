const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes; text becomes a text node. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  parent: Element,
  tag: K,
  attributes: Record<string, string | number> = {},
  text = "",
): SVGElementTagNameMap[K] {
  const node = parent.ownerDocument.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text) node.append(text);
  parent.append(node);
  return node;
}
