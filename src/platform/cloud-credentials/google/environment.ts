/** The file that `GOOGLE_APPLICATION_CREDENTIALS` of this service names: a key of a service account, or a federation. */

import {
  type CredentialRequest,
  type CredentialSource,
  CredentialUnavailable,
  type IssuedCredential,
} from '../credential-source.ts';
import { parsedObject, readTokenFile, textIn, variableOf } from '../token-requests.ts';
import { exchange, exchanged } from './federation.ts';
import { checkAccount, impersonated } from './google-token.ts';
import { tokenOfKey } from './service-account.ts';

const variable = 'GOOGLE_APPLICATION_CREDENTIALS';

export const environment: CredentialSource = {
  required: [],
  optional: ['service_account'],
  usesService: () => true,
  targetOf: ({ service_account }) => service_account,
  check: checkAccount,
  async acquire(request) {
    const { surroundings } = request;
    const text = await readTokenFile(surroundings, variableOf(request, variable), variable);
    const json = parsedObject(text, `the file of ${variable}`);
    const issued =
      json.type === 'external_account'
        ? federated(request, json)
        : tokenOfKey(request, text, `the file of ${variable}`);
    return impersonated(request, await issued);
  },
};

/** The file is one of the operator. Its addresses are not used: they are those of Google. */
async function federated(
  request: CredentialRequest,
  json: Readonly<Record<string, unknown>>,
): Promise<IssuedCredential> {
  const what = `the file of ${variable}`;
  const audience = textIn(json, 'audience', what);
  const source = (json.credential_source ?? {}) as Readonly<Record<string, unknown>>;
  const account = /serviceAccounts\/([^/:]+):generateAccessToken$/.exec(
    String(json.service_account_impersonation_url ?? ''),
  )?.[1];
  let issued: IssuedCredential;
  if (typeof source.environment_id === 'string' && source.environment_id.startsWith('aws')) {
    issued = await exchange(request, audience, 'aws');
  } else if (typeof source.file === 'string') {
    issued = await exchanged(request, audience, {
      subject_token: await tokenIn(request, source.file, source.format),
      subject_token_type: textIn(json, 'subject_token_type', what),
    });
  } else {
    throw new CredentialUnavailable(`${what} has no credential_source with a file or of AWS`);
  }
  return account === undefined
    ? issued
    : impersonated({ ...request, fields: { service_account: decodeURIComponent(account) } }, issued);
}

/** The file has the token as text, or in a member of JSON. */
async function tokenIn({ surroundings }: CredentialRequest, path: string, format: unknown): Promise<string> {
  const what = `credential_source in ${variable}`;
  const text = await readTokenFile(surroundings, path, what);
  const { type, subject_token_field_name: name } = (format ?? {}) as Readonly<Record<string, unknown>>;
  return type === 'json' ? textIn(parsedObject(text, what), String(name), what) : text;
}
