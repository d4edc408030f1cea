// @vitest-environment node
import { describe, expect, test } from "vitest";
import { type Request, Sheet } from "../src/shared/picture/sheet.js";
import { type PlacedRaster, SvgPen } from "../src/shared/picture/svg_pen.js";
import { wrapped } from "../src/shared/text_width.js";
import { THEMES } from "../src/shared/theme.js";

describe("the pen that writes SVG", () => {
  function drawn(draw: (pen: SvgPen) => void): string {
    const pen = new SvgPen([]);
    draw(pen);
    return pen.body;
  }

  test("text stays text, and holds nothing that XML forbids", () => {
    const body = drawn((pen) => pen.fillText('<b a="1">&\u0000\ud800', 1, 2));
    expect(body).toContain(">&lt;b a=&quot;1&quot;&gt;&amp;\ufffd\ufffd</text>");
    expect(drawn((pen) => pen.fillText("", 1, 2))).toBe("");
  });

  test("places text by its alignment and baseline", () => {
    const body = drawn((pen) => {
      pen.font = "600 10px Arial";
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText("x", 4, 10);
    });
    expect(body).toBe(
      '<text x="4" y="13.1" font-size="10" font-weight="700" text-anchor="end" ' +
        'fill="#000000">x</text>',
    );
  });

  test("lines of one look are one element; another look, or anything between, begins a new one", () => {
    const line = (pen: SvgPen, y: number) => {
      pen.beginPath();
      pen.moveTo(0, y);
      pen.lineTo(8, y);
      pen.stroke();
    };
    const body = drawn((pen) => {
      for (const y of [1, 2]) line(pen, y);
      pen.strokeStyle = "rgb(255 0 16)";
      line(pen, 3);
      pen.fillRect(0, 0, 1, 1);
      line(pen, 4);
    });
    expect(body.match(/<path/g)).toHaveLength(3);
    expect(body).toContain('d="M0 1L8 1M0 2L8 2"');
    expect(body).toContain('stroke="#ff0010"');
  });

  test("what is moved, turned and kept comes back", () => {
    const body = drawn((pen) => {
      pen.save();
      pen.translate(3, 4);
      pen.rotate(Math.PI / 2);
      pen.fillStyle = "#ff0000";
      pen.fillRect(0, 0, 1, 2);
      pen.restore();
      pen.fillRect(0, 0, 1, 2);
    });
    expect(body).toContain(
      'fill="#ff0000" transform="matrix(0.00000 1.00000 -1.00000 0.00000 3 4)"',
    );
    expect(body.endsWith('height="2" fill="#000000"/>')).toBe(true);
  });

  test("what is blended is one group", () => {
    const body = drawn((pen) => {
      pen.globalCompositeOperation = "darken";
      for (const x of [0, 2]) pen.fillRect(x, 0, 1, 1);
      pen.globalCompositeOperation = "source-over";
      pen.fillRect(4, 0, 1, 1);
    });
    expect(body).toMatch(
      /^<g style="mix-blend-mode:darken"><rect[^>]*><rect[^>]*><\/g><rect[^>]*>$/,
    );
  });

  test("few pixels are cells, clear ones none; many are an image", () => {
    const rasters: PlacedRaster[] = [];
    const pen = new SvgPen(rasters);
    const words = Uint32Array.from([0xff0000ff, 0, 0xff0000ff, 0xff00ff00]);
    pen.image({ across: 2, down: 2, words }, 10, 20, 8, 6);
    expect(pen.body).toContain('d="M10 20h4v3h-4ZM10 23h4v3h-4Z"');
    expect(pen.body).toContain("#ff0000");
    expect(pen.body.match(/<path/g)).toHaveLength(2);
    pen.image({ across: 40, down: 40, words: new Uint32Array(1600) }, 0, 0, 80, 80);
    expect(pen.body).toContain('href="raster:0"');
    expect(rasters[0]).toMatchObject({ width: 80, height: 80 });
  });

  test("a part is cut at its box", () => {
    const body = drawn((pen) => {
      pen.translate(5, 6);
      pen.clipped(10, 20, () => pen.fillRect(0, 0, 99, 99));
      pen.fillRect(1, 1, 1, 1);
    });
    expect(body).toMatch(/^<svg x="5" y="6" width="10" height="20"><rect x="0" y="0"[^>]*><\/svg>/);
    expect(body).toContain('transform="translate(5 6)"');
  });
});

describe("a sheet", () => {
  const request: Request = {
    width: null,
    theme: THEMES.light,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };

  test("is as wide as asked for, or as what does not fit", () => {
    expect(new Sheet({ ...request, width: 300 }).width).toBe(300);
    const sheet = new Sheet({ ...request, width: 300 });
    sheet.figure(500, 40, () => {});
    expect([sheet.width, sheet.figures]).toEqual([516, [{ x: 8, y: 8, width: 500, height: 40 }]]);
  });

  test("wraps what it says, and sets a column beside the figure", () => {
    const sheet = new Sheet({ ...request, width: 400 });
    sheet.text("word ".repeat(60));
    expect(sheet.pen.body.match(/<text/g)?.length).toBeGreaterThan(3);
    sheet.figure(200, 100, () => {});
    const { height } = sheet;
    sheet.aside(120);
    sheet.text("beside");
    expect(sheet.height).toBe(height);
  });

  test("only its size is asked for: nothing is painted", () => {
    const sheet = new Sheet({ ...request, blank: true });
    sheet.figure(10, 10, () => {
      throw new Error("painted");
    });
    expect(sheet.width).toBe(26);
  });

  test("other sheets stand side by side, with their figures", () => {
    const child = (width: number) => {
      const sheet = new Sheet({ ...request, rasters: whole.rasters });
      sheet.figure(width, 10, (pen) => pen.fillRect(0, 0, 1, 1));
      return sheet;
    };
    const whole = new Sheet(request);
    whole.columns([[child(100), child(60)], [child(50)]], 32);
    expect(whole.figures.map(({ x, y }) => [x, y])).toEqual([
      [8, 16],
      [8, 42],
      [156, 16],
    ]);
  });
});

test("words longer than a line are broken, and no letter is lost", () => {
  const pair = wrapped("heads L0 H0, L11 H10 “x”", 10, (text) => text.length);
  expect(pair).toEqual(["heads", "L0 H0,", "L11 H10", "“x”"]);
  const lines = wrapped(`a ${"x".repeat(30)} · b`, 10, (text) => text.length);
  expect(lines.every((line) => line.length <= 12)).toBe(true);
  expect(lines.join("").replaceAll(" ", "")).toBe(`a${"x".repeat(30)}·b`);
  expect(lines.some((line) => line.startsWith("·"))).toBe(false);
});
