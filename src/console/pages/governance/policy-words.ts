/** Rules as several pages show them. */
import { badge, type Tone } from '../../components.ts';
import { words } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';

export interface PolicyView {
  readonly id: string;
  readonly version: number;
  readonly effect: string;
  readonly models: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expression: string | null;
  readonly priority: number;
  readonly reason: string;
  readonly enabled: boolean;
  readonly updated_at: string;
}

const tones: Readonly<Record<string, Tone>> = { block: 'bad', require_approval: 'warn', allow: 'good' };

export function effectBadge(effect: string): Markup {
  return badge(words(effect), tones[effect] ?? 'plain');
}

export function conditions({ models, actions, expression }: PolicyView): Part {
  const parts = [
    models !== null && html`models ${models.map((model) => html`<code>${model}</code> `)}`,
    actions !== null && html`actions ${actions.map((action) => html`<code>${action}</code> `)}`,
    expression !== null && html`<code>${expression}</code>`,
  ].filter((part) => part !== false);
  return parts.length === 0
    ? 'everything'
    : parts.map((part) => html`<span class="condition">${part}</span>`);
}
