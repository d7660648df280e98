/** What the contract promises of the headers of webhook deliveries, and since when signing with the org's secret is deprecated. */
import type { Announcement } from './deprecation-headers.ts';

/** The contract's spelling; what they carry is in `docs/guides/webhooks.md`. */
export const signatureHeader = 'X-Svc-Signature';
export const eventVersionHeader = 'X-Svc-Event-Version';

/** Deliveries that are signed with the org's secret. They are no route, so no route's registry lists them. */
export const orgSignedDelivery: Announcement = {
  since: '2026-07-22',
  sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
};
