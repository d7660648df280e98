/** Forms of configuration files that the API does not have: amounts as numbers, and references to secrets. */

/** Fields with amounts. A file may write them as numbers; the API takes text, so that no digit is lost. */
export const amountFields = /(_usd|_usd_per_million|_percent)$|^multiplier$/;

/** Fields with a secret, by their section. A file refers to the secret. */
export const secretFields: readonly { readonly section: string; readonly field: string }[] = [
  { section: 'connections', field: 'api_key' },
  { section: 'sso', field: 'client_secret' },
];

/** Fields that a file may write as text or as a reference. The URL of a chat lets its holder post to it, so it may be kept secret. */
export const referableFields: typeof secretFields = [{ section: 'webhooks', field: 'url' }];
