/** What a receiver's address may be. Where its name leads to is looked at when the connection is made. */
import { invalidField } from '../../../contract/api-error.ts';
import { isPublicAddress, literalAddress } from '../../../platform/outbound/addresses.ts';

/** Returns the URL in its usual spelling, or refuses it. */
export function checkReceiverUrl(text: string, allowPrivateNetworks: boolean): string {
  if (!URL.canParse(text)) {
    throw invalidField('url', 'invalid_format', 'This has to be an absolute URL.');
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    throw invalidField('url', 'invalid_value', 'This has to start with https://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidField(
      'url',
      'invalid_value',
      'Credentials do not belong into the address: verify the signature.',
    );
  }
  const literal = literalAddress(url);
  if (literal !== undefined && !allowPrivateNetworks && !isPublicAddress(literal)) {
    throw invalidField('url', 'invalid_value', 'Private and local addresses are not allowed.');
  }
  // It is never sent, and would only look as if it were.
  url.hash = '';
  return url.href;
}
