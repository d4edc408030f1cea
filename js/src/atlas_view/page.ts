import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import { selectHeads } from "../shared/selection.js";
import { anchorOf, headOf } from "./rows.js";
import type { AtlasState, Card } from "./state.js";

/** Create the model of the page's cards. The address of the page follows the selected head. */
export const pageModel: Kernel<AtlasState, { cards: Record<string, Card> }> = ({ state, own }) => {
  const model = localModel<AtlasState>({ ...state, _card: null });
  const cardOf = () => {
    const head = model.get("selected").at(-1);
    return (head && own.cards[anchorOf(head)]) ?? null;
  };
  const follow = () => {
    const head = headOf(location.hash);
    if (head && own.cards[anchorOf(head)]) selectHeads(model, [head]);
  };
  const choose = () => {
    const card = cardOf();
    model.set("_card", card);
    model.set("example", null);
    // A page in a frame without its own address has no anchors.
    if (card && location.protocol !== "about:")
      history.replaceState(null, "", `#${anchorOf(card.head)}`);
  };
  follow();
  model.set("_card", cardOf());
  model.on("change:selected", choose);
  model.on("change:examples", () => model.set("example", null));
  addEventListener("hashchange", follow);
  return model;
};
