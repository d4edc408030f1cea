import { adds } from "../shared/key_list.js";
import { rowAt, type Scene } from "./scene.js";

/**
 * The pointer on the labels of tokens, which stand beside the rows and stay in sight when the box
 * is scrolled. `lockOther`: lock the token of a row; `moved` is called for another label.
 */
export function tokenLabels(
  shown: () => Scene | undefined,
  box: () => HTMLElement | null,
  lockOther: (token: number, alone: boolean) => void,
  moved: () => void,
) {
  let pointed: number | undefined;

  function under(event: MouseEvent): number | undefined {
    const scene = shown();
    const around = box();
    if (!scene?.side || !around) return undefined;
    const onLabel = event.clientX - around.getBoundingClientRect().left < scene.layout.x0;
    const { top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return onLabel ? rowAt(scene, event.clientY - top) : undefined;
  }

  function point(token: number | undefined): void {
    if (token === pointed) return;
    pointed = token;
    moved();
  }

  return {
    /** The token whose label is pointed at. */
    pointed: () => pointed,
    move: (event: PointerEvent) => point(under(event)),
    leave: () => point(undefined),
    click(event: MouseEvent): void {
      const token = under(event);
      if (token !== undefined) lockOther(token, adds(event));
    },
  };
}
