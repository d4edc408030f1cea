/** Short names for the behavior of heads. */
export type Family = "neighbor" | "grammar" | "pronoun" | "same word" | "rests" | "other";

/** Five muted colors for families. Each color always appears next to its word. */
export const FAMILY_COLORS: Record<"light" | "dark", Record<Exclude<Family, "other">, string>> = {
  light: {
    neighbor: "#0f9d7a",
    grammar: "#d9822b",
    pronoun: "#c2559d",
    "same word": "#5a8fd0",
    rests: "#b4b7bd",
  },
  dark: {
    neighbor: "#35c39f",
    grammar: "#f0a04b",
    pronoun: "#e58ac6",
    "same word": "#86b4ee",
    rests: "#5d6168",
  },
};

/** Families of a legend, in this order. */
export const FAMILIES = ["neighbor", "grammar", "pronoun", "same word", "rests"] as const;
