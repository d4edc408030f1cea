import { clamp } from "../shared/clamp.js";

/** From this width on the card stands beside the table. */
const WIDE = 900;
const TABLE = { share: 0.4, least: 400, most: 480 };
/** A table over the card is no wider than its numbers can be read beside its names. */
const WIDEST_TABLE = 768;
/** Between table and card, and between the columns of a card. */
export const SPACE = 24;
/** From this width on a card has two columns. */
const TWO_COLUMNS = 840;
const WIDEST_COLUMN = 768;
/** Names of behaviors beside their bars. */
const LABEL = { share: 0.36, most: 176 };
/** Between a name, a bar and its numbers. */
export const GAP = 8;
/** Room for a score and its control, or the range of the effects of other heads. */
export const NUMBERS = 120;
/** From these widths on the table has outcomes in one line, and bars beside the strengths. */
const ONE_LINE = 400;
const BARS = 440;
/** Room for the weight before an example. */
export const WEIGHT = 40;

export interface AtlasLayout {
  isWide: boolean;
  /** Widths of the table, of the card, of a column of the card, and of its parts. */
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
