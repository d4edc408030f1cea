import { type Caption, caption, captionText, type Table } from "../shared/caption.js";
import { type Drawn, type DrawPicture, Sheet } from "../shared/picture/sheet.js";

/** One figure of several; `width` is its fixed width, or null for a share of the free width. */
interface FigurePanel {
  figure: string;
  state: never;
  width: number | null;
  title: boolean;
  /** "" where panels have no letters. */
  letter: string;
}

/** What a picture of several figures is made of, row by row. */
interface PanelsState {
  rows: FigurePanel[][];
}

/** Beside the margins that every panel has. */
const GAP = 16;
/** Widths of pictures that ask for none: of each column, and of all at least. */
const OWN = { column: 480, whole: 640 };

/** Several figures as one picture, each laid out for its place by its ordinary drawing code. */
export const drawPanels =
  (figures: Record<string, DrawPicture<never>>): DrawPicture<PanelsState> =>
  ({ rows }, request) => {
    const most = Math.max(...rows.map(({ length }) => length));
    const whole = request.width ?? Math.max(OWN.whole, OWN.column * most + GAP * (most - 1));
    const sheet = new Sheet({ ...request, width: whole }, undefined, 0);
    const all: [FigurePanel, Drawn][] = [];
    for (const row of rows) {
      const widths = widthsOf(row, whole);
      const drawn = row.map((panel, i) => {
        const draw = figures[panel.figure];
        if (!draw) throw new Error(`there is no figure ${panel.figure}`);
        const { title, letter } = panel;
        const panelRequest = {
          ...request,
          width: widths[i] ?? whole,
          title,
          letter,
          rasters: sheet.rasters,
        };
        const made = draw(panel.state, panelRequest);
        all.push([panel, made]);
        return [made.sheet];
      });
      sheet.columns(drawn, GAP);
    }
    return { sheet, caption: captionOf(all), table: tableOf(all) };
  };

/** Panels without a fixed width share the free width. */
function widthsOf(row: FigurePanel[], whole: number): number[] {
  const taken = row.reduce((sum, { width }) => sum + (width ?? 0), GAP * (row.length - 1));
  const open = row.filter(({ width }) => width === null).length;
  const share = Math.max(1, Math.floor((whole - taken) / Math.max(1, open)));
  return row.map(({ width }) => width ?? share);
}

const nameOf = ({ letter }: FigurePanel, index: number) => letter || `panel ${index + 1}`;

/** The model once where all are of one; then each panel's caption. */
function captionOf(all: [FigurePanel, Drawn][]): Caption {
  const models = new Set(all.map(([, { caption }]) => caption.model));
  const shared = models.size === 1 ? ([...models][0] ?? "") : "";
  const captionOf = (said: Caption) => captionText(shared ? { ...said, model: "" } : said);
  return caption(`Figure of ${all.length} ${all.length === 1 ? "panel" : "panels"}`, {
    model: shared,
    notes: all.map(([panel, { caption }], i) => `${nameOf(panel, i)}: ${captionOf(caption)}`),
  });
}

/** The rows of all tables, each under its panel's name; empty where a table lacks a column. */
function tableOf(all: [FigurePanel, Drawn][]): Table {
  const columns = [...new Set(all.flatMap(([, { table }]) => table.columns))];
  const rows = all.flatMap(([panel, { table }], i) =>
    table.rows.map((row) => [
      nameOf(panel, i),
      ...columns.map((column) => row[table.columns.indexOf(column)] ?? null),
    ]),
  );
  return { columns: ["panel", ...columns], rows };
}
