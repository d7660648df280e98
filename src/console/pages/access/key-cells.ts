/** Parts that the list of API keys and the page of a key share. */
import type { Part } from '../../html.ts';
import { codeList, type Tone } from '../../inline.ts';
import type { Responses } from '../../responses.ts';

export const statusTones: Readonly<Record<string, Tone>> = {
  active: 'good',
  expired: 'warn',
  revoked: 'bad',
  not_yet_valid: 'info',
};

export function scopeList({ scopes }: Responses['keys.read']): Part {
  return scopes.length === 0 ? 'none' : codeList(scopes);
}
