import { noChange } from "lit-html";
import { Directive, directive, type ElementPart } from "lit-html/directive.js";

class Painted extends Directive {
  private drawn: readonly unknown[] | undefined;

  render(_draw: (canvas: HTMLCanvasElement) => void, ..._of: unknown[]): unknown {
    return noChange;
  }

  override update({ element }: ElementPart, [draw, ...of]: Parameters<this["render"]>): unknown {
    if (of.length === this.drawn?.length && of.every((value, i) => value === this.drawn?.[i]))
      return noChange;
    this.drawn = of;
    draw(element as HTMLCanvasElement);
    return noChange;
  }
}

/**
 * Paint a canvas of a template, first and whenever one of the values after `draw` changes: `<canvas
 * ${painted(draw, theme, values)}></canvas>`.
 */
export const painted = directive(Painted);
