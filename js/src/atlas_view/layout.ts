import { clamp } from "../shared/clamp.js";

/** Width from which the card is next to the table. */
const WIDE = 900;
const TABLE = { share: 0.4, least: 400, most: 480 };
/**
 * Largest width of a table above the card: in a wider table, numbers would be too far from their
 * names.
 */
const WIDEST_TABLE = 768;
/** Space between table and card, and between the columns of a card. */
export const SPACE = 24;
/** Width from which a card has two columns. */
const TWO_COLUMNS = 840;
const WIDEST_COLUMN = 768;
/** Width of the names of behaviors next to their bars, as a share of the column and in pixels. */
const LABEL = { share: 0.36, most: 176 };
/** Space between a name, a bar and its numbers. */
export const GAP = 8;
/** Width of a score with its control, or of the range of the effects of other heads. */
export const NUMBERS = 120;
/** Widths of the table from which outcomes fit one line, and strengths have bars. */
const ONE_LINE = 400;
const BARS = 440;
/** Width of the weight before an example. */
export const WEIGHT = 40;

export interface AtlasLayout {
  isWide: boolean;
  /** Widths of the table, the card, a column of the card, and its parts. */
  table: number;
  card: number;
  column: number;
  label: number;
  bar: number;
  hasTwoColumns: boolean;
  hasStrengthBars: boolean;
  hasShortLines: boolean;
}

const between = ({ least, most }: Record<"least" | "most", number>, width: number) =>
  Math.round(clamp(width, least, most));

export function layoutOf(width: number, hasTable = true): AtlasLayout {
  const isWide = hasTable && width >= WIDE;
  const table = isWide ? between(TABLE, TABLE.share * width) : Math.min(WIDEST_TABLE, width);
  const card = isWide ? width - table - SPACE : width;
  const hasTwoColumns = card >= TWO_COLUMNS;
  const column = hasTwoColumns ? Math.floor((card - SPACE) / 2) : Math.min(card, WIDEST_COLUMN);
  const label = Math.min(LABEL.most, Math.round(LABEL.share * column));
  const bar = column - label - NUMBERS - 2 * GAP;
  const hasStrengthBars = table >= BARS;
  const hasShortLines = table < ONE_LINE;
  return {
    isWide,
    table,
    card,
    column,
    label,
    bar,
    hasTwoColumns,
    hasStrengthBars,
    hasShortLines,
  };
}
