/**
 * The published rules of the Open Cybersecurity Schema Framework 1.3.0 for the three classes that an export may use:
 * the attributes with their types, the required ones, and groups of which at least one is required.
 */
import { isIP } from 'node:net';

type Check = (value: unknown) => boolean;
interface ObjectRule {
  readonly attributes: Readonly<Record<string, Check | string>>;
  readonly required?: readonly string[];
  readonly atLeastOne?: readonly string[];
}

const string: Check = (value) => typeof value === 'string';
const integer: Check = (value) => Number.isSafeInteger(value);
const oneOf =
  (...allowed: number[]): Check =>
  (value) =>
    allowed.includes(value as number);
const json: Check = (value) => value !== undefined;

/** A string refers to an object of this list; with `[]`, to an array of that object. */
const objects: Readonly<Record<string, ObjectRule>> = {
  metadata: {
    attributes: {
      version: (value) => value === '1.3.0',
      product: 'product',
      uid: string,
      sequence: integer,
      tenant_uid: string,
      log_name: string,
      event_code: string,
      correlation_uid: string,
    },
    required: ['product', 'version'],
  },
  product: {
    attributes: { name: string, uid: string, vendor_name: string, version: string },
    required: ['vendor_name'],
    atLeastOne: ['name', 'uid'],
  },
  actor: {
    attributes: { user: 'user' },
    atLeastOne: ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'],
  },
  user: {
    attributes: { uid: string, name: string, type: string, type_id: oneOf(0, 1, 2, 3, 99) },
    atLeastOne: ['account', 'name', 'uid'],
  },
  api: {
    attributes: { operation: string, service: 'service', request: 'request', response: 'response' },
    required: ['operation'],
  },
  service: { attributes: { name: string, uid: string, version: string }, atLeastOne: ['name', 'uid'] },
  request: { attributes: { uid: string }, required: ['uid'] },
  response: { attributes: { code: integer, error: string, error_message: string, message: string } },
  network_endpoint: {
    attributes: {
      ip: (value) => string(value) && isIP(value as string) !== 0,
      svc_name: string,
      name: string,
    },
    atLeastOne: [
      'ip',
      'uid',
      'name',
      'hostname',
      'svc_name',
      'instance_uid',
      'interface_uid',
      'interface_name',
    ],
  },
  resource_details: {
    attributes: { uid: string, name: string, type: string, data: json },
    atLeastOne: ['name', 'uid'],
  },
  managed_entity: {
    attributes: { uid: string, name: string, type: string, data: json },
    atLeastOne: ['name', 'uid', 'device', 'group', 'org', 'policy', 'user'],
  },
};

const base: ObjectRule = {
  attributes: {
    activity_id: integer,
    activity_name: string,
    category_uid: integer,
    category_name: string,
    class_uid: integer,
    class_name: string,
    type_uid: integer,
    type_name: string,
    time: integer,
    severity_id: oneOf(0, 1, 2, 3, 4, 5, 6, 99),
    severity: string,
    status_id: oneOf(0, 1, 2, 99),
    status: string,
    status_code: string,
    status_detail: string,
    message: string,
    metadata: 'metadata',
    unmapped: json,
  },
  required: ['activity_id', 'category_uid', 'class_uid', 'type_uid', 'time', 'severity_id', 'metadata'],
};

interface ClassRule extends ObjectRule {
  readonly category: number;
  readonly activities: readonly number[];
}

const classes: Readonly<Record<number, ClassRule>> = {
  6003: {
    category: 6,
    activities: [0, 1, 2, 3, 4, 99],
    attributes: {
      actor: 'actor',
      api: 'api',
      src_endpoint: 'network_endpoint',
      resources: 'resource_details[]',
    },
    required: ['actor', 'api', 'src_endpoint'],
  },
  3002: {
    category: 3,
    activities: [0, 1, 2, 3, 4, 5, 6, 99],
    attributes: {
      actor: 'actor',
      user: 'user',
      service: 'service',
      src_endpoint: 'network_endpoint',
    },
    required: ['user'],
    atLeastOne: ['service', 'dst_endpoint'],
  },
  3004: {
    category: 3,
    activities: [0, 1, 2, 3, 4, 99],
    attributes: {
      actor: 'actor',
      entity: 'managed_entity',
      entity_result: 'managed_entity',
      src_endpoint: 'network_endpoint',
    },
    required: ['entity'],
  },
};

/** Returns a message for each rule that the event violates. */
export function ocsfFaults(event: Record<string, unknown>): string[] {
  const rule = classes[event.class_uid as number];
  if (rule === undefined) {
    return [`${event.class_uid} is not one of the classes`];
  }
  const faults = objectFaults(event, '', {
    attributes: { ...base.attributes, ...rule.attributes },
    required: [...(base.required ?? []), ...(rule.required ?? [])],
    ...(rule.atLeastOne && { atLeastOne: rule.atLeastOne }),
  });
  if (event.category_uid !== rule.category) {
    faults.push(`the category of class ${event.class_uid} is ${rule.category}`);
  }
  if (!rule.activities.includes(event.activity_id as number)) {
    faults.push(`class ${event.class_uid} has no activity ${event.activity_id}`);
  }
  if (event.activity_id === 99 && event.type_name !== `${event.class_name}: Other`) {
    faults.push(`${event.type_name} is not what the schema calls an activity without a number`);
  }
  if (event.type_uid !== (event.class_uid as number) * 100 + (event.activity_id as number)) {
    faults.push(`${event.type_uid} is not the type of the class and the activity`);
  }
  return faults;
}

function objectFaults(value: unknown, path: string, rule: ObjectRule): string[] {
  if (typeof value !== 'object' || value === null) {
    return [`${path} has to be an object`];
  }
  const given = value as Record<string, unknown>;
  const faults = Object.entries(given).flatMap(([name, part]) => {
    const check = rule.attributes[name];
    return check === undefined
      ? [`${path}${name} is no attribute`]
      : attributeFaults(part, `${path}${name}`, check);
  });
  for (const name of rule.required ?? []) {
    if (given[name] === undefined) {
      faults.push(`${path}${name} is required`);
    }
  }
  if (rule.atLeastOne !== undefined && !rule.atLeastOne.some((name) => given[name] !== undefined)) {
    faults.push(`${path} needs one of ${rule.atLeastOne.join(', ')}`);
  }
  return faults;
}

function attributeFaults(value: unknown, path: string, check: Check | string): string[] {
  if (typeof check !== 'string') {
    return check(value) ? [] : [`${path} must not be ${JSON.stringify(value)}`];
  }
  const isList = check.endsWith('[]');
  const rule = objects[isList ? check.slice(0, -2) : check] as ObjectRule;
  if (!isList) {
    return objectFaults(value, `${path}.`, rule);
  }
  return Array.isArray(value)
    ? value.flatMap((item, index) => objectFaults(item, `${path}[${index}].`, rule))
    : [`${path} has to be a list`];
}
