/** The role of the container or instance that this service runs on. */

import {
  type CredentialRequest,
  type CredentialSource,
  CredentialUnavailable,
  type IssuedCredential,
} from '../credential-source.ts';
import { requestJson, requestText } from '../token-requests.ts';
import { containerRole, hasContainerEndpoint } from './container.ts';
import { issuedRole } from './role-answer.ts';

export const instance: CredentialSource = {
  required: [],
  optional: [],
  usesService: () => true,
  targetOf: () => undefined,
  acquire: (request) => (hasContainerEndpoint(request) ? containerRole(request) : instanceRole(request)),
};

const service = 'the EC2 metadata service';
const credentialsPath = '/latest/meta-data/iam/security-credentials/';
/** A session of IMDSv2 is used for two requests. */
const sessionSeconds = '60';

/** Asks the instance metadata service, version 2 only: the first version answers requests that an attacker may have caused. */
export async function instanceRole({ surroundings }: CredentialRequest): Promise<IssuedCredential> {
  const { variables } = surroundings;
  if (variables.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') {
    throw new CredentialUnavailable('AWS_EC2_METADATA_DISABLED is set');
  }
  const origin =
    variables.AWS_EC2_METADATA_SERVICE_ENDPOINT ??
    (variables.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE?.toLowerCase() === 'ipv6'
      ? 'http://[fd00:ec2::254]'
      : 'http://169.254.169.254');
  const session = await requestText(surroundings, {
    service,
    url: `${origin}/latest/api/token`,
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': sessionSeconds, 'content-length': '0' },
  });
  const headers = { 'x-aws-ec2-metadata-token': session.trim() };
  const list = await requestText(surroundings, { service, url: `${origin}${credentialsPath}`, headers });
  const [role = ''] = list.trim().split('\n');
  if (role === '') {
    throw new CredentialUnavailable('the EC2 instance has no role');
  }
  const url = `${origin}${credentialsPath}${encodeURIComponent(role.trim())}`;
  return issuedRole(await requestJson(surroundings, { service, url, headers }), service);
}
