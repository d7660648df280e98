/**
 * Formats an entry as an event of the Open Cybersecurity Schema Framework, 1.3.0. API calls are API Activity (6003),
 * signing in or out is Authentication (3002), and changes by the service or the command line are Entity Management
 * (3004).
 */
import { isIP } from 'node:net';
import { jsonLine } from '../../../platform/line-breaks.ts';
import type { AuditEntry, AuditOutcome } from './chain.ts';

export const ocsfVersion = '1.3.0';

const severities: Record<AuditOutcome, readonly [number, string]> = {
  success: [1, 'Informational'],
  failure: [2, 'Low'],
  denied: [3, 'Medium'],
};

const activities = {
  create: [1, 'Create'],
  read: [2, 'Read'],
  update: [3, 'Update'],
  delete: [4, 'Delete'],
} as const;
type Activity = readonly [number, string];
/** Number for activities that the schema does not define. */
const other = 99;

/** Signing in to and out of the console, by action name. */
const authentications: Readonly<Record<string, Activity>> = {
  'sessions.open': [1, 'Logon'],
  'sessions.close': [2, 'Logoff'],
};

export function ocsfLine(entry: AuditEntry, version: string): string {
  return jsonLine(ocsfEvent(entry, version));
}

export function ocsfEvent(entry: AuditEntry, version: string): object {
  const { action, traceId } = entry;
  const authentication = authentications[action];
  if (authentication !== undefined) {
    return {
      ...common(entry, version, { classUid: 3_002, className: 'Authentication', activity: authentication }),
      user: userOf(entry),
      service: { name: 'Purser' },
      src_endpoint: endpointOf(entry),
    };
  }
  const activity = activityOf(entry);
  if (traceId === null) {
    return {
      ...common(entry, version, { classUid: 3_004, className: 'Entity Management', activity }),
      actor: { user: userOf(entry) },
      entity: entityOf(entry, entry.before ?? entry.after),
      ...(entry.before !== null && entry.after !== null && { entity_result: entityOf(entry, entry.after) }),
    };
  }
  return {
    ...common(entry, version, { classUid: 6_003, className: 'API Activity', activity }),
    actor: { user: userOf(entry) },
    api: {
      operation: action,
      service: { name: 'Purser', version },
      request: { uid: traceId },
      ...(entry.code !== null && { response: { error: entry.code } }),
    },
    src_endpoint: endpointOf(entry),
    resources: [
      {
        uid: entry.targetId,
        type: entry.targetKind,
        data: { before: entry.before, after: entry.after, detail: entry.detail },
      },
    ],
  };
}

interface Class {
  readonly classUid: number;
  readonly className: string;
  readonly activity: Activity;
}

function common(entry: AuditEntry, version: string, { classUid, className, activity }: Class): object {
  const [severityId, severity] = severities[entry.outcome];
  const succeeded = entry.outcome === 'success';
  const categoryUid = Math.floor(classUid / 1_000);
  const [activityId, activityName] = activity;
  return {
    category_uid: categoryUid,
    category_name: categoryUid === 6 ? 'Application Activity' : 'Identity & Access Management',
    class_uid: classUid,
    class_name: className,
    activity_id: activityId,
    activity_name: activityName,
    type_uid: classUid * 100 + activityId,
    // The activity may have a custom name; the type name comes from the schema.
    type_name: `${className}: ${activityId === other ? 'Other' : activityName}`,
    time: Date.parse(entry.at),
    severity_id: severityId,
    severity,
    status_id: succeeded ? 1 : 2,
    status: succeeded ? 'Success' : 'Failure',
    ...(entry.code !== null && { status_code: entry.code, status_detail: entry.outcome }),
    message: `${entry.actorKind} ${entry.actorId}: ${entry.action} ${entry.targetId}`,
    metadata: {
      version: ocsfVersion,
      product: { name: 'Purser', vendor_name: 'Purser', version },
      uid: entry.id,
      sequence: entry.seq,
      tenant_uid: entry.tenantId,
      log_name: 'audit',
      event_code: entry.action,
      ...(entry.traceId !== null && { correlation_uid: entry.traceId }),
    },
    unmapped: { previous_hash: entry.previousHash, hash: entry.hash, redacted: entry.redactedBy !== null },
  };
}

function userOf({ actorKind, actorId }: AuditEntry): object {
  const types: Record<string, Activity> = {
    operator: [2, 'Admin'],
    support: [2, 'Admin'],
    member: [1, 'User'],
    service: [3, 'System'],
    command_line: [2, 'Admin'],
  };
  const [typeId, type] = types[actorKind] ?? [other, actorKind];
  return { uid: actorId, type_id: typeId, type };
}

/** Returns the source address; for an entry without a valid address, this service. */
function endpointOf({ address }: AuditEntry): object {
  return address !== null && isIP(address) !== 0 ? { ip: address } : { svc_name: 'Purser' };
}

function entityOf({ targetId, targetKind }: AuditEntry, data: object | null): object {
  return { uid: targetId, type: targetKind, ...(data !== null && { data }) };
}

/**
 * Derives the activity from the name of a deleting action, otherwise from the values before and after. For a call that was rejected
 * or recorded no values, derives it from the HTTP method in its target.
 */
function activityOf({ action, before, after, outcome, targetId }: AuditEntry): Activity {
  if (/(^|[._])(delete|revoke|remove|redact|void)$/.test(action)) {
    return activities.delete;
  }
  if (outcome !== 'success' || (before === null && after === null)) {
    const method = /^[A-Z]+(?= )/.exec(targetId)?.[0] ?? '';
    return byMethod[method] ?? [other, action];
  }
  if (before === null) {
    return activities.create;
  }
  return after === null ? activities.delete : activities.update;
}

const byMethod: Readonly<Record<string, Activity>> = {
  GET: activities.read,
  POST: activities.create,
  PUT: activities.update,
  PATCH: activities.update,
  DELETE: activities.delete,
};
