/** E-mail addresses: plain ones only, without display names, comments or quoted parts. */

/** Pattern of addresses, also for schemas. It excludes every character that could start another header or another address. */
export const addressPattern =
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$";
export const addressLengthMax = 254;

const address = new RegExp(addressPattern);

export function isMailAddress(text: string): boolean {
  return text.length <= addressLengthMax && address.test(text) && !text.includes('..');
}

export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** Parses `Name <address>` or an address. The message of its error describes a valid value. */
export function parseMailbox(text: string): Mailbox {
  const [, name = '', inBrackets] = /^([^<>"\p{Cc}]{0,100})<([^<>]+)>$/u.exec(text) ?? [];
  const found = { name: name.trim(), address: inBrackets ?? text };
  if (!isMailAddress(found.address)) {
    throw new Error('an e-mail address, or a name and an address as in `Purser <purser@example.com>`');
  }
  return found;
}

export function domainOf({ address: text }: Mailbox): string {
  return text.slice(text.lastIndexOf('@') + 1);
}
