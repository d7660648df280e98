/** The result of looking up a session cookie. Sessions are a capability, and this is their interface to the pipeline. */
import type { Credential } from '../routes/access.ts';

export type FoundSession =
  /** The request has no session cookie. */
  | { readonly kind: 'none' }
  /** This service never issued the cookie. */
  | { readonly kind: 'unknown' }
  /** The session has ended. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'live'; readonly credential: Credential };

export interface SessionFinder {
  find(cookieHeader: string | undefined, now: Date): Promise<FoundSession>;
  /** Returns the `Set-Cookie` header that deletes the cookie. */
  clearCookie(): string;
}
