/** Header names of webhook deliveries, and the deprecation of signing with the org's secret. */
import type { Announcement } from './deprecation-headers.ts';

/** Headers in the spelling of the contract; `docs/guides/webhooks.md` describes the values. */
export const signatureHeader = 'X-Svc-Signature';
export const eventVersionHeader = 'X-Svc-Event-Version';
export const eventIdHeader = 'X-Svc-Event-Id';

/** Deprecation of deliveries that are signed with the org's secret. It is not in the registry, because they are not a route. */
export const orgSignedDelivery: Announcement = {
  since: '2026-07-22',
  sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
};
