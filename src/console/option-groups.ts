/** Check boxes in groups that can be folded, with an explanation of each. */
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

/** Groups with a selected option are open. */
export function optionGroups(
  name: string,
  groups: readonly OptionGroup[],
  chosen: ReadonlySet<string>,
): Markup {
  const box = ({ value, label, help }: ExplainedOption) =>
    html`<div class="option"><label class="check"><input type="checkbox" name="${name}" value="${value}"${chosen.has(value) && html` checked`}> ${label}</label>${help}</div>`;
  return html`<div class="option-groups">${groups.map(({ title, options, isOpen }) => {
    const selected = options.filter(({ value }) => chosen.has(value)).length;
    return html`<details class="option-group"${(isOpen || selected > 0) && html` open`}><summary>${title}${selected > 0 && html` <span class="quiet">${selected} selected</span>`}</summary>${options.map(box)}</details>`;
  })}</div>`;
}
