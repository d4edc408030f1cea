import { type Caption, caption, captionText, type Table } from "../shared/caption.js";
import { type Drawn, type DrawPicture, Sheet } from "../shared/picture/sheet.js";

/** Panel with one figure. `width` is its fixed width, or null for a share of the free width. */
interface FigurePanel {
  figure: string;
  state: never;
  width: number | null;
  title: boolean;
  /** Letter of the panel, or "". */
  letter: string;
}

/** Rows of panels in a picture. */
interface PanelsState {
  rows: FigurePanel[][];
}

/** Space between panels, in addition to their margins. */
const GAP = 16;
/** Default width of each column of a picture, and smallest default width of the picture. */
const OWN = { column: 480, whole: 640 };

/**
 * Return a function that draws several figures as one picture. Each is laid out for its panel by
 * its own drawing code.
 */
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

/** Return the widths of panels. Panels without a fixed width share the free width. */
function widthsOf(row: FigurePanel[], whole: number): number[] {
  const taken = row.reduce((sum, { width }) => sum + (width ?? 0), GAP * (row.length - 1));
  const open = row.filter(({ width }) => width === null).length;
  const share = Math.max(1, Math.floor((whole - taken) / Math.max(1, open)));
  return row.map(({ width }) => width ?? share);
}

const nameOf = ({ letter }: FigurePanel, index: number) => letter || `panel ${index + 1}`;

/**
 * Return the caption, which names the model once if all panels share it, followed by each panel's
 * caption.
 */
function captionOf(all: [FigurePanel, Drawn][]): Caption {
  const models = new Set(all.map(([, { caption }]) => caption.model));
  const shared = models.size === 1 ? ([...models][0] ?? "") : "";
  const captionOf = (said: Caption) => captionText(shared ? { ...said, model: "" } : said);
  return caption(`Figure of ${all.length} ${all.length === 1 ? "panel" : "panels"}`, {
    model: shared,
    notes: all.map(([panel, { caption }], i) => `${nameOf(panel, i)}: ${captionOf(caption)}`),
  });
}

/** Return the rows of all tables with the name of their panel. Missing columns are null. */
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
