import { html, noChange, render } from "lit-html";
import { Directive, directive, type ElementPart } from "lit-html/directive.js";

interface Option {
  value: string;
  text: string;
  disabled?: boolean;
}

class Options extends Directive {
  render(_options: readonly Option[], _value: string): unknown {
    return noChange;
  }

  override update({ element }: ElementPart, [options, value]: Parameters<this["render"]>): unknown {
    const select = element as HTMLSelectElement;
    render(
      options.map(
        ({ value, text, disabled = false }) =>
          html`<option value=${value} ?disabled=${disabled}>${text}</option>`,
      ),
      select,
    );
    if (select.value !== value) select.value = value;
    return noChange;
  }
}

/**
 * Fill a select with options and set its value, which the select accepts only after it has the
 * options: `<select ${selectOptions(options, value)}></select>`.
 */
export const selectOptions = directive(Options);
