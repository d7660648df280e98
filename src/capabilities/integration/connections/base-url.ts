/** The URL of a provider: defaults and validation. The address that its host resolves to is checked when connecting. */
import { invalidField } from '../../../contract/api-error.ts';
import { knownHostOf } from '../../../kernel/known-hosts.ts';
import { mayConnect } from '../../../platform/outbound/addresses.ts';
import type { KeyVariable } from './connection.ts';
import { type ConnectionKind, type DefaultUrls, kindOf } from './kinds/index.ts';
import type { AccountPath } from './kinds/provider-kind.ts';

export interface BaseUrlRules {
  readonly allowPrivateNetworks: boolean;
  readonly defaultUrls: DefaultUrls;
}

/** Returns the normalized URL, or rejects it. */
export function checkBaseUrl(
  text: string | undefined,
  kind: ConnectionKind,
  { allowPrivateNetworks, defaultUrls }: BaseUrlRules,
): string {
  const given = text ?? defaultUrls[kind];
  if (given === undefined) {
    throw invalidField('base_url', 'required', `Required for the kind \`${kind}\`.`);
  }
  if (!URL.canParse(given)) {
    throw invalidField('base_url', 'invalid_format', 'Must be an absolute URL.');
  }
  const url = new URL(given);
  const { urlParameters, account } = kindOf({ kind });
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    throw invalidField('base_url', 'invalid_value', 'Must start with https://.');
  }
  if (url.username !== '' || url.password !== '' || !hasAllowedQuery(url, urlParameters) || url.hash !== '') {
    throw invalidField(
      'base_url',
      'invalid_value',
      urlParameters.length === 0
        ? 'The URL must not contain credentials, a query or a fragment.'
        : `The URL must not contain credentials, a fragment or a query other than \`${urlParameters.join('`, `')}\`.`,
    );
  }
  if (account !== undefined) {
    checkAccount(url, account);
  }
  if (!mayConnect(url, { allowPrivateNetworks })) {
    throw invalidField('base_url', 'invalid_value', 'Private and local addresses are not allowed.');
  }
  return normalized(url);
}

function checkAccount(url: URL, { pattern, form }: AccountPath): void {
  const location = pattern.exec(normalized(url))?.groups?.location;
  if (location === undefined && url.pathname.replace(/\/+$/, '') !== '') {
    throw invalidField('base_url', 'invalid_value', `Must be ${form}, without a version.`);
  }
  const region = knownHostOf(url.href)?.region ?? undefined;
  if (region !== undefined && location !== region) {
    throw invalidField('base_url', 'invalid_value', `The host is that of the location ${region}.`);
  }
}

function hasAllowedQuery({ search, searchParams }: URL, names: readonly string[]): boolean {
  return search === '' || (names.length > 0 && [...searchParams.keys()].join() === names.join());
}

/** The key of an environment variable belongs to the operator: it is only sent where the operator allows it. */
export function maySendVariable(
  variable: KeyVariable,
  { kind, baseUrl }: { readonly kind: ConnectionKind; readonly baseUrl: string },
  defaultUrls: DefaultUrls,
): boolean {
  const { baseUrl: allowed = defaultUrls[kind] } = variable;
  return allowed !== undefined && isSameUrl(allowed, baseUrl);
}

/** Compares a URL of a setting with that of a connection. */
export function isSameUrl(allowed: string, baseUrl: string): boolean {
  return normalized(new URL(allowed)) === baseUrl;
}

function normalized({ origin, pathname, search }: URL): string {
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`;
}

/**
 * Returns the URL of an operation, whose path may have a query. Parameters of the connection replace those of the path, and the account of
 * the connection replaces `{account}` in it.
 */
export function urlBelow(
  { kind, baseUrl }: { readonly kind: ConnectionKind; readonly baseUrl: string },
  path: string,
): URL {
  const { account } = kindOf({ kind });
  if (account !== undefined) {
    const [named = ''] = account.pattern.exec(baseUrl) ?? [];
    const host = baseUrl.slice(0, baseUrl.length - named.length);
    return new URL(`${host}${path.replace('{account}', () => named)}`);
  }
  const mark = baseUrl.indexOf('?');
  if (mark === -1) {
    return new URL(`${baseUrl}${path}`);
  }
  const url = new URL(`${baseUrl.slice(0, mark)}${path}`);
  for (const [name, value] of new URLSearchParams(baseUrl.slice(mark))) {
    url.searchParams.set(name, value);
  }
  return url;
}
