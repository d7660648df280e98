/** The addresses of an org's endpoints for coding tools. */
export interface CodeUrls {
  /** The address that people enter in the tool. */
  readonly base: string;
  readonly deviceAuthorization: string;
  readonly token: string;
  readonly revocation: string;
  readonly verification: string;
}

export const codePath = '/code';

/** Returns the path of the page on which people approve a sign-in. It is a page of the console, so that a sign-in can return to it. */
export function verificationPath(slug: string): string {
  return `/console/device/${encodeURIComponent(slug)}`;
}

export function codeUrls(baseUrl: string, slug: string): CodeUrls {
  const base = `${baseUrl}${codePath}/${encodeURIComponent(slug)}`;
  return {
    base,
    deviceAuthorization: `${base}/oauth/device_authorization`,
    token: `${base}/oauth/token`,
    revocation: `${base}/oauth/revoke`,
    verification: `${baseUrl}${verificationPath(slug)}`,
  };
}
