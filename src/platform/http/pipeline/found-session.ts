/** What a request's session cookie leads to. Sessions themselves are a capability; the pipeline only asks for them. */
import type { Credential } from '../routes/access.ts';

export type FoundSession =
  /** There is no such cookie. */
  | { readonly kind: 'none' }
  /** This service never gave it out. */
  | { readonly kind: 'unknown' }
  /** It was given out once, and its session is over. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'live'; readonly credential: Credential };

export interface SessionFinder {
  find(cookieHeader: string | undefined, now: Date): Promise<FoundSession>;
  /** The header that makes a browser forget its cookie. */
  clearCookie(): string;
}
