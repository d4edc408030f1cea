import { type Control, choice } from "./controls.js";
import { labelOfHead, relabeled } from "./head_names.js";
import { save } from "./snapshot.js";
import {
  type Head,
  type HeadLabel,
  headName,
  type Model,
  SCALES,
  type SharedState,
  SPECIALS,
  type Special,
} from "./types.js";

/** Largest number of characters that the kernel accepts. */
const LONGEST_LABEL = 80;
const UNITS: SharedState["unit"][] = ["tokens", "words"];

/**
 * Return the controls for quantity, unit and scale. `withUnit`: Traits that change together with
 * the unit.
 */
export function drawnControls<T extends SharedState>(
  model: Model<T>,
  withUnit: Partial<SharedState> & Partial<T> = {},
): Control[] {
  const shared: Model<SharedState> = model as never;
  return [
    {
      kind: "choice",
      name: "quantity",
      place: "menu",
      shared: true,
      values: shared.get("_quantities"),
      value: shared.get("quantity"),
      change: (quantity) => save(shared, { quantity }),
    },
    choice<SharedState["unit"]>({
      name: "unit",
      place: "menu",
      shared: true,
      values: UNITS,
      value: shared.get("unit"),
      // A locked token is a position on the axis. On the axis of the other unit, that position is a
      // different token.
      change: (unit) => save(shared, { tokens: [], ...withUnit, unit }),
    }),
    choice<SharedState["scale"]>({
      name: "scale",
      place: "menu",
      shared: true,
      values: SCALES,
      value: shared.get("scale"),
      change: (scale) => save(shared, { scale }),
    }),
  ];
}

/**
 * Return a checkbox for each kind of special token, checked while the kind is hidden. `nameOf`
 * returns the names of the kinds in the input.
 */
export function hideControl(
  model: Model<Pick<SharedState, "hidden">>,
  nameOf: (kind: Special) => string | undefined,
): Control {
  const hidden = model.get("hidden");
  return {
    kind: "ticks",
    name: "hide",
    trait: "hidden",
    place: "bar",
    shared: true,
    boxes: SPECIALS.map((kind) => ({
      name: kind,
      label: nameOf(kind) ?? kind,
      value: hidden.includes(kind),
      hidden: nameOf(kind) === undefined && !hidden.includes(kind),
    })),
    change: (kind, value) =>
      save(model, {
        hidden: SPECIALS.filter((other) =>
          other === kind ? value : model.get("hidden").includes(other),
        ),
      }),
  };
}

interface Labeled {
  selected: Head[];
  labels?: HeadLabel[];
}

/** Return the control for the label of the shown head. */
export function labelControl(model: Model<Labeled>): Control {
  const head = model.get("selected").at(-1);
  const labels = model.get("labels") ?? [];
  const value = head ? labelOfHead(head, labels) : "";
  return {
    kind: "text",
    name: "label",
    trait: "labels",
    place: "menu",
    shared: true,
    label: `label of ${head ? headName(head) : ""}`,
    placeholder: "none",
    longest: LONGEST_LABEL,
    value,
    change: (text) => {
      if (head && text.trim() !== value) save(model, { labels: relabeled(labels, head, text) });
    },
    hidden: !head,
  };
}
