/** The variables of conditions, with examples that can be inserted. */
import { html, type Markup } from '../../html.ts';
import { subline } from '../../inline.ts';
import type { Item } from '../../responses.ts';
import { table } from '../../table.ts';

/** The script of the page inserts the example into the field, or appends it to the text there. */
export function variableReference(variables: readonly Item<'policies.variables'>[]): Markup {
  return html`<details class="example reference"><summary>Variables and examples</summary>${table({
    caption: 'Variables',
    rows: variables,
    columns: [
      { title: 'Variable', cell: ({ name, type }) => html`<code>${name}</code>${subline(type)}` },
      { title: 'Meaning', cell: ({ meaning }) => meaning },
      { title: 'Example', cell: ({ example }) => html`<code>${example}</code>` },
      {
        title: '',
        cell: ({ name, example }) =>
          html`<button type="button" class="button needs-script" data-insert="${example}" data-into="field-expression">
Insert<span class="hidden"> example of ${name}</span></button>`,
      },
    ],
  })}</details>`;
}
