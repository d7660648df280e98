/** Forms of configuration files that the API does not have: amounts as numbers, and references to secrets. */

/** Fields with amounts. A file may write them as numbers; the API takes text, so that no digit is lost. */
export const amountFields = /(_usd|_usd_per_million|_percent)$|^multiplier$/;

/** Fields with a secret, by their section. A file refers to the secret. */
export const secretFields: readonly { readonly section: string; readonly field: string }[] = [
  { section: 'connections', field: 'api_key' },
  { section: 'sso', field: 'client_secret' },
];

/** Fields that a file may write as such a reference, or as they are: whoever has the URL of a chat can post to it. */
export const referableFields: typeof secretFields = [{ section: 'webhooks', field: 'url' }];
