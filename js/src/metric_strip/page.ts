import type { Metrics } from "../shared/head_types.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { StripState } from "./scene.js";

/** The strip of metrics, of the stack of the head that is shown, or the first. */
export const pageModel: Kernel<StripState, { metrics: Metrics[] }> = ({ state, own }) => {
  const model = localModel<StripState>({ ...state, _metrics: null });
  const draw = () => {
    const [first] = own.metrics;
    const stack = model.get("selected").at(-1)?.[2] ?? first?.stack;
    model.set("_metrics", own.metrics.find((of) => of.stack === stack) ?? null);
  };
  model.on("change:selected", draw);
  draw();
  return model;
};
