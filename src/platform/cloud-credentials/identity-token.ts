/** OIDC tokens of this process, which its platform writes to files and replaces before they expire. */

import { type CredentialRequest, CredentialUnavailable } from './credential-source.ts';
import { readTokenFile } from './token-requests.ts';

/** Names in the setting, and the documented variables that are used without it. */
const variables = {
  google: undefined,
  azure: 'AZURE_FEDERATED_TOKEN_FILE',
  openai: undefined,
  anthropic: 'ANTHROPIC_IDENTITY_TOKEN_FILE',
} as const;
export const identityTokenNames = Object.keys(variables) as readonly IdentityTokenName[];
export type IdentityTokenName = keyof typeof variables;

export const tokenFilesSetting = 'SVC_GATEWAY_IDENTITY_TOKEN_FILES';

/** Returns the token for who accepts it. Tokens differ in their audience. */
export function identityToken({ surroundings }: CredentialRequest, name: IdentityTokenName): Promise<string> {
  const listed = surroundings.tokenFiles.get(name);
  const variable = variables[name];
  const path = listed ?? (variable && surroundings.variables[variable]);
  if (path === undefined) {
    throw new CredentialUnavailable(`${tokenFilesSetting} has no file for ${name}`);
  }
  return readTokenFile(surroundings, path, listed === undefined ? (variable ?? '') : tokenFilesSetting);
}
