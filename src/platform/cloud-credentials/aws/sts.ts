/** The Security Token Service of AWS. */

import type { AwsCredential } from '../credential.ts';
import {
  type CredentialRequest,
  CredentialUnavailable,
  type IssuedCredential,
} from '../credential-source.ts';
import { signAws } from '../sign-aws.ts';
import { requestText } from '../token-requests.ts';

const version = '2011-06-15';
const globalRegion = 'us-east-1';

/** The region whose STS is called. */
export function stsRegion({ region, surroundings: { variables } }: CredentialRequest): string {
  return region ?? variables.AWS_REGION ?? variables.AWS_DEFAULT_REGION ?? globalRegion;
}

export function stsHost(region: string): string {
  return `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** Calls an action that returns credentials; it is signed with `by`, if that is given. */
export async function callSts(
  request: CredentialRequest,
  action: string,
  parameters: Readonly<Record<string, string>>,
  by?: AwsCredential,
): Promise<IssuedCredential> {
  const { surroundings } = request;
  const region = stsRegion(request);
  const url = new URL(surroundings.variables.AWS_ENDPOINT_URL_STS ?? `https://${stsHost(region)}/`);
  const body = new URLSearchParams({ Action: action, Version: version, ...parameters }).toString();
  const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
  if (by !== undefined) {
    signAws({ method: 'POST', url, headers, body }, by, {
      region,
      service: 'sts',
      atMs: surroundings.nowMs(),
    });
  }
  return credentialIn(
    await requestText(surroundings, { service: 'AWS STS', url: url.href, method: 'POST', headers, body }),
  );
}

/** STS answers in XML; the values have no characters that it would escape. */
function credentialIn(xml: string): IssuedCredential {
  const element = (name: string) => new RegExp(`<${name}>\\s*([^<\\s]+)\\s*</${name}>`).exec(xml)?.[1];
  const accessKeyId = element('AccessKeyId');
  const secretAccessKey = element('SecretAccessKey');
  const sessionToken = element('SessionToken');
  const expiresAtMs = Date.parse(element('Expiration') ?? '');
  if (
    accessKeyId === undefined ||
    secretAccessKey === undefined ||
    sessionToken === undefined ||
    Number.isNaN(expiresAtMs)
  ) {
    throw new CredentialUnavailable('AWS STS answered without credentials');
  }
  return { credential: { type: 'aws', accessKeyId, secretAccessKey, sessionToken }, expiresAtMs };
}
