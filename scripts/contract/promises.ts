/** The promises of the contract, as quoted in the check's output. */
const promises = {
  frozen: 'The frozen contract is the only document; nothing records it anew.',
  envelope: 'The error envelope is frozen within /v1 (Versioning, Stability of /v1, rule 1).',
  codes:
    'Codes are append-only; documented codes and documented response statuses are never removed within /v1 (Errors, rule 2).',
  details: 'The details of a code may gain fields, and lose none (Resources, Error envelope).',
  fieldErrors:
    'validation_failed lists field, code and message of every offending field, with the published codes (Resources, Field error entry).',
  authentication:
    'Calls carry Authorization: Bearer, and each failure has its code (Authentication, 1 to 9).',
  headers: 'The headers of the contract stand on the responses that it names (Errors, rules 4, 5 and 7).',
  routes: 'The routes of the contract are served, with the answers that it names (Endpoints).',
  removal:
    'A path, operation, field, enum value or parameter of /v1 is never removed within /v1 (Versioning, Stability of /v1, rule 2).',
  narrowing:
    'A change that would break /v1 is deprecated and shipped under a new version; no override exists (Versioning, Stability of /v1, rule 3).',
  overlap:
    'A breaking replacement ships under /v2, and both are served for at least 12 months before the /v1 shape is sunset (Versioning, Stability of /v1, rule 2).',
  sunset:
    'Notice periods are minimums and are never shortened; once published a sunset date is never moved earlier (Versioning, Minimum notice).',
  settings:
    'A setting that is deprecated in release N is removed no earlier than N+2 (Versioning, Minimum notice).',
  changelog:
    'Every deprecation is recorded in the changelog at announcement and at removal (Versioning, Minimum notice).',
  operators:
    'Changes of settings are announced in the release notes, as operator actions, and in the release ledger (Versioning, Minimum notice).',
  signalling:
    'Every response to a deprecated route carries Deprecation, Sunset and Link; it is listed, marked in OpenAPI and counted (Versioning, Signalling).',
  deliveries:
    'Deliveries are signed in X-Svc-Signature, in two formats, and stamped with X-Svc-Event-Version (Events).',
  active:
    'Every active deprecation keeps its announcement, sunset and replacement (Versioning, Active deprecations).',
  ledger: 'The release ledger is history: releases are added to it, in order (docs/operations/releasing.md).',
  metrics: 'A metric that operators watch keeps its name and its labels (docs/operations/releasing.md).',
  baseline:
    'The published baseline tells the truth, and only its command writes it (docs/operations/releasing.md).',
  notServedYet:
    'The list of what is not served yet only shrinks (docs/operations/releasing.md, Routes that are not served yet).',
} as const;

export type Promised = keyof typeof promises;

/** `what` is a clause without a full stop that names the thing and the change. */
export function broken(promise: Promised, what: string): string {
  return `${what}. Promise: ${promises[promise]}`;
}
