/** Labels of rules that several pages show. */
import { humanize } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge, codeList, type Tone } from '../../inline.ts';
import type { Responses } from '../../responses.ts';

export type PolicyResponse = Responses['policies.read'];

const tones: Readonly<Record<string, Tone>> = { block: 'bad', require_approval: 'warn', allow: 'good' };

export function effectBadge(effect: string): Markup {
  return badge(humanize(effect), tones[effect] ?? 'plain');
}

export function conditions({ models, actions, expression }: PolicyResponse): Part {
  const parts = [
    models !== null && html`models ${codeList(models)}`,
    actions !== null && html`actions ${codeList(actions)}`,
    expression !== null && html`<code>${expression}</code>`,
  ].filter((part) => part !== false);
  return parts.length === 0
    ? 'all requests'
    : parts.map((part) => html`<span class="condition">${part}</span>`);
}
