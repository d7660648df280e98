/** Policies, safety detectors and the routing policy. */
import { selectPolicies, viewPolicy } from '../../governance/policies/index.ts';
import { findRoutingPolicy, viewRoutingPolicy } from '../../governance/routing/index.ts';
import { allDetectors, viewDetector } from '../../governance/safety/index.ts';
import { type ListSection, pick, type SingleSection } from './section.ts';

const policyDefaults = { models: null, actions: null, expression: null, enabled: true, owner: null };

/** A rule has no name: its reason, which callers see, identifies it. */
export const policies: ListSection = {
  shape: 'list',
  name: 'policies',
  label: 'policy',
  key: ['reason'],
  secondaryKey: ['effect', 'priority'],
  readRoute: 'policies.list',
  defaults: policyDefaults,
  async load({ db, orgId }) {
    const rows = await selectPolicies(db, orgId);
    const fields = ['effect', 'priority', 'reason', ...Object.keys(policyDefaults)];
    return rows.map((row) => ({ id: row.id, fields: pick(viewPolicy(row), fields) }));
  },
  create: (body) => ({ route: 'policies.create', body }),
  change: ({ id }, body) => ({ route: 'policies.change', params: { policy_id: id }, body }),
  remove: ({ id }) => ({ route: 'policies.delete', params: { policy_id: id } }),
};

const builtInDefaults = { enabled: false, action: 'flag', threshold: 1, pattern: null, words: null };
const ownDefaults = { enabled: true, threshold: 1, pattern: null, words: null };

/** A built-in detector always exists. Its name is its id. */
export const safetyDetectors: ListSection = {
  shape: 'list',
  name: 'safety_detectors',
  label: 'safety detector',
  key: ['name'],
  readRoute: 'safety_detectors.list',
  fixed: ['kind'],
  defaults: ownDefaults,
  async load({ db, orgId }) {
    const fields = ['name', 'kind', 'action', ...Object.keys(ownDefaults)];
    return (await allDetectors(db, orgId)).map((row) => ({
      id: row.id,
      fields: pick(viewDetector(row), fields),
      isKept: row.kind === 'built_in',
    }));
  },
  complete: (item) => ({ ...(item.kind === 'built_in' ? builtInDefaults : ownDefaults), ...item }),
  create: (body) => ({ route: 'safety_detectors.create', body }),
  change: ({ id }, body) => ({ route: 'safety_detectors.change', params: { detector_id: id }, body }),
  remove: ({ id }) => ({ route: 'safety_detectors.delete', params: { detector_id: id } }),
};

/** Returns the values that a built-in detector has until it is changed; undefined for a custom detector. */
export function untouchedDetector(kind: unknown): object | undefined {
  return kind === 'built_in' ? builtInDefaults : undefined;
}

const routingDefaults = { min_samples: 1, weights: null, fallbacks: [] };

export const routingPolicy: SingleSection = {
  shape: 'single',
  name: 'routing_policy',
  label: 'routing policy',
  readRoute: 'routing_policy.read',
  defaults: routingDefaults,
  async load({ db, orgId }) {
    const row = await findRoutingPolicy(db, orgId);
    const fields = [
      'candidates',
      'suite',
      'min_score',
      'max_age_days',
      'objective',
      ...Object.keys(routingDefaults),
    ];
    return row === undefined ? [] : [{ id: orgId, fields: pick(viewRoutingPolicy(row), fields) }];
  },
  complete: (item) => ({
    ...routingDefaults,
    ...item,
    weights: item.weights == null ? null : { cost: 0, latency: 0, quality: 0, ...(item.weights as object) },
  }),
  create: (body) => ({ route: 'routing_policy.put', body }),
  change: (_resource, _changed, { weights, ...body }) => ({
    route: 'routing_policy.put',
    body: { ...body, ...(weights !== null && { weights }) },
  }),
  remove: () => ({ route: 'routing_policy.delete' }),
};
