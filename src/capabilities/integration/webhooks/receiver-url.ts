/** Validation of receiver URLs. The address that the host name resolves to is checked when connecting. */
import { invalidField } from '../../../contract/api-error.ts';
import { isPublicAddress, literalAddress } from '../../../platform/outbound/addresses.ts';

/** Returns the normalized URL, or rejects it. */
export function checkReceiverUrl(text: string, allowPrivateNetworks: boolean): string {
  if (!URL.canParse(text)) {
    throw invalidField('url', 'invalid_format', 'Must be an absolute URL.');
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivateNetworks && url.protocol === 'http:')) {
    throw invalidField('url', 'invalid_value', 'Must start with https://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidField(
      'url',
      'invalid_value',
      'The URL must not contain credentials. Verify the signature instead.',
    );
  }
  const literal = literalAddress(url);
  if (literal !== undefined && !allowPrivateNetworks && !isPublicAddress(literal)) {
    throw invalidField('url', 'invalid_value', 'Private and local addresses are not allowed.');
  }
  // The fragment is never sent, so it is removed.
  url.hash = '';
  return url.href;
}
