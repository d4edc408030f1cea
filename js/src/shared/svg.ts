const SVG = "http://www.w3.org/2000/svg";

/** Append an SVG element with attributes; text becomes a text node. */
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

/**
 * Description of an SVG element. A page inserts it and a picture writes it, so both have the same
 * content. Only pages use classes and data attributes.
 */
export interface Shape {
  tag: keyof SVGElementTagNameMap;
  attributes: Record<string, string | number>;
  inside: string | Shape[];
}

export const shape = (
  tag: Shape["tag"],
  attributes: Shape["attributes"],
  inside: Shape["inside"] = "",
): Shape => ({
  tag,
  attributes,
  inside,
});

/** Append a shape and its children to an element of the page. */
export function placed(parent: Element, { tag, attributes, inside }: Shape): SVGElement {
  const isText = typeof inside === "string";
  const node = svgElement(parent, tag, attributes, isText ? inside : "");
  if (!isText) for (const each of inside) placed(node, each);
  return node;
}
