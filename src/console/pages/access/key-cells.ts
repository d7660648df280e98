/** Parts that the list of API keys and the page of a key share. */
import type { Responses } from '../../../contract/views/responses.ts';
import type { Tone } from '../../components.ts';
import { html, type Part } from '../../html.ts';

export const statusTones: Readonly<Record<string, Tone>> = {
  active: 'good',
  expired: 'warn',
  revoked: 'bad',
  not_yet_valid: 'info',
};

export function scopeList({ scopes }: Responses['keys.read']): Part {
  return scopes.length === 0 ? 'none' : scopes.map((scope) => html`<code>${scope}</code> `);
}
