/**
 * The tokens of a tool: an access token, which is sent with each request, and a refresh token, with which the tool gets the next
 * pair. They have the format of keys, so that scanners find them. Only their digests are stored.
 */
import { generateKey, isWellFormedKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';

/** The middle parts, where keys have the environment. */
const accessName = 'tool';
const refreshName = 'toolrefresh';
const accessPrefix = `svc_${accessName}_`;
const refreshPrefix = `svc_${refreshName}_`;

export interface ToolTokens {
  readonly access: string;
  readonly refresh: string;
}

/** Returns true for a token that may be an access token. A deployment may use the same prefix for its keys. */
export function isAccessToken(token: string): boolean {
  return token.startsWith(accessPrefix);
}

export function isRefreshToken(token: string): boolean {
  return token.startsWith(refreshPrefix) && isWellFormedKey(token);
}

export const toolTokenDigest = keyDigest;

/**
 * Returns a function that derives the tokens that follow a device code or a refresh token. The same code or token always leads to
 * the same tokens, so a tool whose response was lost can repeat its request, although only digests are stored.
 */
export function createTokenDerivation(secrets: Pick<Secrets, 'signer'>): (from: string) => ToolTokens {
  const sign = secrets.signer('tool tokens');
  const derive = (name: string, from: string) =>
    generateKey(name, (size) => sign(`${name} ${from}`).subarray(0, size));
  return (from) => ({ access: derive(accessName, from), refresh: derive(refreshName, from) });
}
