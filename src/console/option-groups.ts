/** Check boxes, also in groups that can be folded, with an explanation of each. */
import { html, type Markup, type Part } from './html.ts';

export interface Option {
  readonly value: string;
  readonly label: string;
}

export interface OptionGroup {
  readonly title: string;
  readonly options: readonly ExplainedOption[];
  /** Open although nothing in it is selected. */
  readonly isOpen?: true;
}

export interface ExplainedOption extends Option {
  readonly help?: Part;
}

export function checkBox(attributes: Part, { value, label }: Option, isChecked: boolean): Markup {
  return html`<label class="check"><input type="checkbox" ${attributes} value="${value}"${isChecked && html` checked`}> ${label}</label>`;
}

/** Check boxes in groups that unfold. Groups with a selected option are open. */
export function optionGroups(
  groups: readonly OptionGroup[],
  chosen: ReadonlySet<string>,
  box: (option: Option) => Markup,
): Markup {
  return html`<div class="option-groups">${groups.map(({ title, options, isOpen }) => {
    const selected = options.filter(({ value }) => chosen.has(value)).length;
    const counted = selected > 0 && html` <span class="quiet">${selected} selected</span>`;
    return html`<details class="option-group"${(isOpen || selected > 0) && html` open`}><summary>${title}${counted}</summary>
${options.map((option) => html`<div class="option">${box(option)}${option.help}</div>`)}</details>`;
  })}</div>`;
}
