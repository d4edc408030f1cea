import { html, nothing, render, type TemplateResult } from "lit-html";

/** Formats of saved figures, with their labels in the menu. */
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
/** Milliseconds for which a success message covers the figure below it. */
const BRIEF = 6_000;
const NO_ANSWER =
  "No answer from the kernel: it is busy, or it is not connected; then run the cell again.";

/** Answer of the kernel, as defined in `save_menu.py`. */
interface SaveAnswer {
  kind: string;
  id: string;
  error?: string;
  text?: string;
  name?: string;
  type?: string;
}

/** Kernel side of a model; absent on saved pages. */
interface Kernel {
  send(content: object): void;
  on(
    event: "msg:custom",
    listener: (answer: SaveAnswer, buffers: DataView<ArrayBuffer>[]) => void,
  ): void;
  off(
    event: "msg:custom",
    listener: (answer: SaveAnswer, buffers: DataView<ArrayBuffer>[]) => void,
  ): void;
}

const NEXT: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * Return the button "save" with its menu. It asks the kernel for a file, which the page downloads,
 * or for the figure's code. It is empty if there is no kernel.
 */
export function saveMenu(document: Document, model: object, signal: AbortSignal): HTMLElement {
  const box = document.createElement("div");
  box.className = "attnw-save";
  const kernel = model as Partial<Kernel>;
  if (!kernel.send) return box;

  let isOpen = false;
  let said: string | TemplateResult = "";
  let waiting = "";
  let late: ReturnType<typeof setTimeout> | undefined;

  const view = () => html`<button type="button" class="attnw-save-button" aria-haspopup="menu"
      aria-expanded=${isOpen} @click=${() => (isOpen ? close() : open())}>save</button>
    <p class="attnw-save-said" role="status">${said}</p>
    <div class="attnw-save-menu" role="menu" ?hidden=${!isOpen} aria-label="save this figure as"
      aria-orientation="horizontal">${FORMATS.map(
        ([format, name]) => html`<button type="button" role="menuitem" tabindex="-1"
          title=${TITLES[format] ?? ""} @click=${() => ask(format)}>${name}</button>`,
      )}</div>`;
  const draw = () => render(view(), box);
  const items = () => [...box.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const focusButton = () => box.querySelector<HTMLElement>(".attnw-save-button")?.focus();

  function open(): void {
    isOpen = true;
    say("");
    items()[0]?.focus();
  }
  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    draw();
  }
  function say(text: string | TemplateResult): void {
    clearTimeout(late);
    said = text;
    draw();
  }

  function sayBriefly(text: string): void {
    say(text);
    late = setTimeout(() => say(""), BRIEF);
  }

  function ask(format: string): void {
    close();
    focusButton();
    waiting = Math.random().toString(36).slice(2);
    say(format === "code" ? "writing the code …" : "drawing …");
    late = setTimeout(() => say(NO_ANSWER), LATE);
    kernel.send?.({ kind: "attnwidget-save", id: waiting, format });
  }

  function answered(answer: SaveAnswer, buffers: DataView<ArrayBuffer>[]): void {
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
    // Revoke the URL later, because some browsers read the file after the click.
    setTimeout(() => URL.revokeObjectURL(link.href), LATE);
    sayBriefly(name);
  }

  async function copy(code: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(code);
      sayBriefly("code copied");
    } catch {
      // Pages over plain HTTP and frames may not write to the clipboard, so let the reader copy the
      // code.
      say(html`Copy it with Ctrl+C or ⌘+C:<textarea readonly rows="6" .value=${code}
        aria-label="Python code of this figure"></textarea>`);
      const area = box.querySelector("textarea");
      area?.focus();
      area?.select();
    }
  }

  function pressed(event: KeyboardEvent): void {
    const { key, target } = event;
    const choices = items();
    const now = choices.indexOf(box.ownerDocument.activeElement as HTMLElement);
    const step = NEXT[key];
    const isSaid = target instanceof Element && target.closest(".attnw-save-said");
    // Keys pressed here are not meant for the figure.
    if (isOpen || key === "Enter" || key === " " || isSaid) event.stopPropagation();
    else if (key !== "Escape" || !said) return;
    if (key === "Escape") {
      event.stopPropagation();
      isOpen = false;
      focusButton();
      say("");
    } else if (isOpen && step) choices[(now + step + choices.length) % choices.length]?.focus();
    else if (isOpen && key === "Home") choices[0]?.focus();
    else if (isOpen && key === "End") choices.at(-1)?.focus();
    else return;
    event.preventDefault();
  }

  draw();
  box.addEventListener("keydown", pressed);
  box.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && box.contains(relatedTarget))) close();
  });
  kernel.on?.("msg:custom", answered);
  signal.addEventListener("abort", () => {
    clearTimeout(late);
    kernel.off?.("msg:custom", answered);
  });
  return box;
}

const fold = ({ currentTarget }: Event) => {
  const button = currentTarget as HTMLElement;
  button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
};

/**
 * Return a caption with the save menu, if there is one, floating next to it. If a style sheet cuts
 * the caption to one line, "details" shows all of it.
 */
export const captioned = (box: HTMLElement, caption: TemplateResult) =>
  html`<div class="attnw-captioned">${box.hasChildNodes() ? box : nothing}<button type="button"
    class="attnw-fold" aria-expanded="false" @click=${fold}>details</button>${caption}</div>`;
