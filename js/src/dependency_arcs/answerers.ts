import type { Answerer } from "./answerer.js";
import { dependencyProbe } from "./dependency_probe_answerer.js";
import { HEADS } from "./heads_answerer.js";
import type { ArcsState } from "./state.js";
import { structuralProbe } from "./structural_probe_answerer.js";

/** Return the answerer that Python describes; heads by default. */
export function answererOf({ answerer }: Pick<ArcsState["_source"], "answerer">): Answerer {
  if (answerer?.kind === "dependency probe") return dependencyProbe(answerer.name);
  if (answerer?.kind === "structural probe") return structuralProbe(answerer.name, answerer.layers);
  return HEADS;
}
