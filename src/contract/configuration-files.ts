/** Notations in configuration files that the API does not accept: amounts as numbers, and references to secrets. */

/** Fields with amounts. A file may write them as numbers. The API only accepts text, so that no digit is lost. */
export const amountFields = /(_usd|_usd_per_million|_percent)$|^multiplier$/;

/** Fields with a secret, by section, with dots inside of objects. A file refers to the secret instead of containing it. */
export const secretFields: readonly { readonly section: string; readonly field: string }[] = [
  { section: 'connections', field: 'api_key' },
  { section: 'connections', field: 'credentials.secret_access_key' },
  { section: 'connections', field: 'credentials.session_token' },
  { section: 'connections', field: 'credentials.service_account_key' },
  { section: 'connections', field: 'credentials.client_secret' },
  { section: 'connections', field: 'credentials.client_certificate' },
  { section: 'sso', field: 'client_secret' },
];

/**
 * Fields that a file may write as text or as a reference. For example, the URL of a chat allows posting to it, so it may have to
 * stay secret.
 */
export const referableFields: typeof secretFields = [{ section: 'webhooks', field: 'url' }];
