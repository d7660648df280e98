/** Signs the assertions with which a service account of Google or an application of Entra identifies itself. */
import { constants, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { CredentialUnavailable } from './credential-source.ts';

export type JwtAlgorithm = 'RS256' | 'PS256';

export function signJwt(
  header: { readonly alg: JwtAlgorithm } & Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const text = [{ typ: 'JWT', ...header }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const padding =
    header.alg === 'PS256'
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING };
  return `${text}.${sign('sha256', Buffer.from(text), { key, ...padding }).toString('base64url')}`;
}

/** Returns an RSA key in PEM. The error does not quote it. */
export function privateKeyOf(pem: string, what: string): KeyObject {
  const key = parsedKey(pem);
  if (key?.asymmetricKeyType !== 'rsa') {
    throw new CredentialUnavailable(`${what} has no RSA private key in PEM`);
  }
  return key;
}

function parsedKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
