/** The role of the Kubernetes service account of this service: IAM roles for service accounts, or EKS Pod Identity. */

import type { CredentialRequest, CredentialSource, IssuedCredential } from '../credential-source.ts';
import { readTokenFile, variableOf } from '../token-requests.ts';
import { containerRole, hasContainerEndpoint } from './container.ts';
import { sessionName } from './session-name.ts';
import { callSts } from './sts.ts';

export const webIdentity: CredentialSource = {
  required: [],
  optional: [],
  usesService: () => true,
  targetOf: () => undefined,
  acquire: (request) =>
    !hasWebIdentity(request) && hasContainerEndpoint(request)
      ? containerRole(request)
      : webIdentityRole(request),
};

export function hasWebIdentity({ surroundings: { variables } }: CredentialRequest): boolean {
  return variables.AWS_WEB_IDENTITY_TOKEN_FILE !== undefined;
}

/**
 * The role is that of the environment. A connection cannot name another one: a role that trusts this service could then be used by every
 * organization. `assume_role` has the external id against that.
 */
export async function webIdentityRole(request: CredentialRequest): Promise<IssuedCredential> {
  const file = variableOf(request, 'AWS_WEB_IDENTITY_TOKEN_FILE');
  return callSts(request, 'AssumeRoleWithWebIdentity', {
    RoleArn: variableOf(request, 'AWS_ROLE_ARN'),
    RoleSessionName: request.surroundings.variables.AWS_ROLE_SESSION_NAME ?? sessionName(request.owner),
    WebIdentityToken: await readTokenFile(request.surroundings, file, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  });
}
