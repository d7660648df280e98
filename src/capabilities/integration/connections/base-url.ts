/** The URL of a provider: defaults and validation. The address that its host resolves to is checked when connecting. */
import { invalidField } from '../../../contract/api-error.ts';
import { mayConnect } from '../../../platform/outbound/addresses.ts';
import type { ConnectionKind, KeyVariable } from './connection.ts';

export const defaultBaseUrls: Readonly<Partial<Record<ConnectionKind, string>>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com',
};

/** Returns the normalized URL, or rejects it. */
export function checkBaseUrl(
  text: string | undefined,
  kind: ConnectionKind,
  allowPrivateNetworks: boolean,
): string {
  const given = text ?? defaultBaseUrls[kind];
  if (given === undefined) {
    throw invalidField('base_url', 'required', `Required for the kind \`${kind}\`.`);
  }
  if (!URL.canParse(given)) {
    throw invalidField('base_url', 'invalid_format', 'Must be an absolute URL.');
  }
  const url = new URL(given);
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    throw invalidField('base_url', 'invalid_value', 'Must start with https://.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw invalidField(
      'base_url',
      'invalid_value',
      'The URL must not contain credentials, a query or a fragment.',
    );
  }
  if (!mayConnect(url, allowPrivateNetworks)) {
    throw invalidField('base_url', 'invalid_value', 'Private and local addresses are not allowed.');
  }
  return normalized(url);
}

/** The key of an environment variable belongs to the operator: it is only sent where the operator allows it. */
export function maySendVariable(variable: KeyVariable, kind: ConnectionKind, baseUrl: string): boolean {
  const { baseUrl: allowed = defaultBaseUrls[kind] } = variable;
  return allowed !== undefined && normalized(new URL(allowed)) === baseUrl;
}

function normalized({ href }: URL): string {
  return href.replace(/\/+$/, '');
}
