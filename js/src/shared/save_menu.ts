import { element, listening } from "./dom.js";

/** The formats of saved figures, and their labels in the menu. */
const FORMATS = [
  ["svg", "SVG"],
  ["pdf", "PDF"],
  ["png", "PNG"],
  ["html", "page"],
  ["code", "copy code"],
] as const;
const TITLES: Record<string, string> = {
  html: "an interactive page, in one file that needs no kernel",
  code: "copy the Python that makes this figure",
};
const LATE = 10_000;
const NO_ANSWER =
  "No answer from the kernel: it is busy, or it is not connected; then run the cell again.";

/** The kernel's answer, as `save_menu.py` gives it. */
interface Answer {
  kind: string;
  id: string;
  error?: string;
  text?: string;
  name?: string;
  type?: string;
}

/** The kernel's part of a model; absent on saved pages. */
interface Kernel {
  send(content: object): void;
  on(
    event: "msg:custom",
    listener: (answer: Answer, buffers: DataView<ArrayBuffer>[]) => void,
  ): void;
  off(
    event: "msg:custom",
    listener: (answer: Answer, buffers: DataView<ArrayBuffer>[]) => void,
  ): void;
}

const NEXT: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * The button "save" with its menu: the kernel is asked for a file, which the page then has
 * downloaded, or for the figure's code. Empty where there is no kernel to ask.
 */
export function saveMenu(document: Document, model: object, signal: AbortSignal): HTMLElement {
  const box = document.createElement("div");
  box.className = "attnw-save";
  const kernel = model as Partial<Kernel>;
  if (!kernel.send) return box;
  const button = element(
    box,
    "button",
    {
      type: "button",
      class: "attnw-save-button",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
    },
    "save",
  );
  const said = element(box, "p", { class: "attnw-save-said", role: "status" });
  const menu = element(box, "div", {
    class: "attnw-save-menu",
    role: "menu",
    hidden: true,
    "aria-label": "save this figure as",
    "aria-orientation": "horizontal",
  });
  const items = FORMATS.map(([format, name]) => {
    const title = TITLES[format] ?? "";
    const item = element(
      menu,
      "button",
      { type: "button", role: "menuitem", tabindex: -1, title },
      name,
    );
    item.addEventListener("click", () => ask(format), { signal });
    return item;
  });
  const on = listening(signal);
  let waiting = "";
  let late: ReturnType<typeof setTimeout> | undefined;

  const isOpen = () => !menu.hidden;
  function open(): void {
    say("");
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
    items[0]?.focus();
  }
  function close(): void {
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
  }
  function say(text: string, ...more: Node[]): void {
    clearTimeout(late);
    said.replaceChildren(text, ...more);
  }

  function ask(format: string): void {
    close();
    button.focus();
    waiting = Math.random().toString(36).slice(2);
    say(format === "code" ? "writing the code …" : "drawing …");
    late = setTimeout(() => say(NO_ANSWER), LATE);
    kernel.send?.({ kind: "attnwidget-save", id: waiting, format });
  }

  function answered(answer: Answer, buffers: DataView<ArrayBuffer>[]): void {
    if (answer.kind !== "attnwidget-saved" || answer.id !== waiting) return;
    waiting = "";
    if (answer.error !== undefined) say(`Not saved: ${answer.error}`);
    else if (answer.text !== undefined) void copy(answer.text);
    else download(new Blob(buffers, { type: answer.type }), answer.name ?? "figure");
  }

  function download(file: Blob, name: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    // Not at once: some browsers read the file after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), LATE);
    say(name);
  }

  async function copy(code: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(code);
      say("code copied");
    } catch {
      // Pages over plain HTTP, and frames, may not write to the clipboard: the reader can.
      const area = document.createElement("textarea");
      Object.assign(area, { value: code, readOnly: true, rows: 6 });
      area.setAttribute("aria-label", "Python code of this figure");
      say("Copy it with Ctrl+C or ⌘+C:", area);
      area.focus();
      area.select();
    }
  }

  on(button, "click", () => (isOpen() ? close() : open()));
  on(box, "focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && box.contains(relatedTarget))) close();
  });
  on(box, "keydown", (event) => {
    const { key } = event;
    const now = items.indexOf(box.ownerDocument.activeElement as HTMLButtonElement);
    const step = NEXT[key];
    // What is pressed here is not meant for the figure.
    if (isOpen() || key === "Enter" || key === " " || said.contains(event.target as Node))
      event.stopPropagation();
    else if (key !== "Escape" || !said.textContent) return;
    if (key === "Escape") {
      event.stopPropagation();
      say("");
      close();
      button.focus();
    } else if (isOpen() && step) items[(now + step + items.length) % items.length]?.focus();
    else if (isOpen() && key === "Home") items[0]?.focus();
    else if (isOpen() && key === "End") items.at(-1)?.focus();
    else return;
    event.preventDefault();
  });
  kernel.on?.("msg:custom", answered);
  signal.addEventListener("abort", () => {
    clearTimeout(late);
    kernel.off?.("msg:custom", answered);
  });
  return box;
}

/** Puts the menu in its place: where the caption ends, whose words go round it. */
export function placeSaveMenu(box: HTMLElement, inner: HTMLElement): void {
  if (box.parentNode || !box.hasChildNodes()) return;
  const caption = inner.querySelector("[data-caption]");
  if (!caption) {
    inner.append(box);
    return;
  }
  const both = box.ownerDocument.createElement("div");
  both.className = "attnw-captioned";
  caption.replaceWith(both);
  both.append(box, caption);
}
