/** The endpoint with which ECS and EKS Pod Identity give a container the credentials of its role. */

import {
  type CredentialRequest,
  CredentialUnavailable,
  type IssuedCredential,
} from '../credential-source.ts';
import { readTokenFile, requestJson } from '../token-requests.ts';
import { issuedRole } from './role-answer.ts';

const ecsOrigin = 'http://169.254.170.2';
const service = 'the container credentials endpoint';

export function hasContainerEndpoint({ surroundings: { variables } }: CredentialRequest): boolean {
  return (
    variables.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI !== undefined ||
    variables.AWS_CONTAINER_CREDENTIALS_FULL_URI !== undefined
  );
}

export async function containerRole({ surroundings }: CredentialRequest): Promise<IssuedCredential> {
  const { variables } = surroundings;
  const relative = variables.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const url =
    relative === undefined ? variables.AWS_CONTAINER_CREDENTIALS_FULL_URI : `${ecsOrigin}${relative}`;
  if (url === undefined || !URL.canParse(url)) {
    throw new CredentialUnavailable('AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL');
  }
  const file = variables.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  // The agent replaces the file from time to time.
  const token =
    file === undefined
      ? variables.AWS_CONTAINER_AUTHORIZATION_TOKEN
      : await readTokenFile(surroundings, file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const headers = token === undefined ? {} : { authorization: token };
  return issuedRole(await requestJson(surroundings, { service, url, headers }), service);
}
