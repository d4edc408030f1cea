import { html, nothing } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { type Scene, tableOf } from "./scene.js";

/** Return the collapsed table of the figure's values, rendered only while it is open. */
export function foldedTable(redraw: () => void) {
  let isOpen = false;
  function toggle({ currentTarget }: Event): void {
    isOpen = (currentTarget as HTMLDetailsElement).open;
    redraw();
  }
  return (scene: Scene) => html`<details class="attnw-arcs-details" @toggle=${toggle}>
    <summary>table of arcs</summary>
    <div class="attnw-arcs-tablebox">
      ${guard([scene, isOpen], () => (isOpen ? tableView(scene) : nothing))}
    </div>
  </details>`;
}

function tableView(scene: Scene) {
  const { columns, rows } = tableOf(scene);
  return html`<table class="attnw-table attnw-arcs-table">
    <caption>${scene.title}</caption>
    <thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([word, ...cells]) =>
        html`<tr><th scope="row">${word}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody>
  </table>`;
}
