/** Access to the organization: keys, members, single sign-on, allowed addresses. */
import { selectExpiredKeys, selectKeys, viewKey } from '../../access/keys/index.ts';
import { selectMembers, viewMember } from '../../access/members/index.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { defaultJustInTime, findConnection, isStoredSecret, type PutSso } from '../../access/sso/index.ts';
import { type FileFields, type ListSection, pick, type SingleSection } from './section.ts';

const keyDefaults = { attribution: {}, attribution_locked: [], hold: null, reserve_for_running: null };

/** The times of a key apply to its creation: a rotation gives its successor others. */
export const keys: ListSection = {
  shape: 'list',
  name: 'keys',
  label: 'key',
  key: ['name'],
  readRoute: 'keys.list',
  fixed: ['role', 'scopes'],
  defaults: keyDefaults,
  async load({ db, orgId, now, callerId }) {
    return (await selectKeys(db, orgId, now)).map((row) => {
      const view = viewKey(row, now);
      const fields = pick({ hold: null, reserve_for_running: null, ...view }, [
        'name',
        'role',
        ...Object.keys(keyDefaults),
      ]);
      return {
        id: row.id,
        fields: { ...fields, scopes: sorted(view.scopes) },
        isKept: row.id === callerId,
      };
    });
  },
  async findEnded({ db, orgId, now }, items) {
    const expired = items.filter(
      ({ expires_at }) => expires_at !== undefined && endOf(expires_at) <= now.getTime(),
    );
    const names = expired.map(({ name }) => String(name));
    const rows = names.length === 0 ? [] : await selectExpiredKeys(db, orgId, names, now);
    const ends = new Set(rows.map(({ name, expires_at }) => `${expires_at.getTime()} ${name}`));
    return expired.filter(({ name, expires_at }) => ends.has(`${endOf(expires_at)} ${name}`));
  },
  complete: ({ not_before: _, expires_at: __, ...item }) => ({
    ...keyDefaults,
    ...item,
    attribution: withoutNulls(item.attribution),
    scopes: sorted(item.scopes),
  }),
  create: (body) => ({ route: 'keys.mint', body }),
  change: ({ id }, body) => ({ route: 'keys.change', params: { key_id: id }, body }),
  remove: ({ id }) => ({ route: 'keys.revoke', params: { key_id: id } }),
  secretIn: ({ secret }) => (typeof secret === 'string' ? secret : undefined),
};

function endOf(timestamp: unknown): number {
  return new Date(String(timestamp)).getTime();
}

function sorted(values: unknown): unknown {
  return Array.isArray(values) ? [...values].sort() : values;
}

/** `member_id: null` states that the key of a signed-in member is for a service: the key has none. */
function withoutNulls(attribution: unknown): FileFields {
  return Object.fromEntries(Object.entries(attribution ?? {}).filter(([, value]) => value !== null));
}

/** A member without an e-mail address, who signed in by SSO, cannot be in the file. */
export const members: ListSection = {
  shape: 'list',
  name: 'members',
  label: 'member',
  key: ['email'],
  readRoute: 'members.list',
  defaults: {},
  async load({ db, orgId }) {
    const rows = await selectMembers(db, orgId);
    return rows.map((row) => ({
      id: row.id,
      fields: pick(viewMember(row), ['email', 'name', 'role']),
      isKept: row.email === null,
    }));
  },
  complete: (item) => ({ ...item, email: String(item.email).toLowerCase() }),
  create: (body) => ({ route: 'members.invite', body }),
  change: ({ id }, body) => ({ route: 'members.change', params: { member_id: id }, body }),
  remove: ({ id }) => ({ route: 'members.remove', params: { member_id: id } }),
  secretIn: ({ sign_in_url }) => (typeof sign_in_url === 'string' ? sign_in_url : undefined),
};

const commonSso = {
  groups_attribute: 'groups',
  role_mapping: [],
  default_role: 'viewer',
  allowed_email_domains: [],
};
const ssoDefaults = { ...commonSso, required: false };
const oidcScope = 'openid email profile';

/** The section for single sign-on. If `client_secret` is left out, the stored one is kept. */
export const sso: SingleSection = {
  shape: 'single',
  name: 'sso',
  label: 'single sign-on',
  readRoute: 'sso.read',
  secretFields: ['client_secret'],
  defaults: ssoDefaults,
  async load({ db, orgId, secrets }) {
    const row = await findConnection(db, orgId);
    if (row === undefined) {
      return [];
    }
    const ofKind =
      row.kind === 'oidc'
        ? { issuer: row.issuer, ...pick(row, ['client_id', 'scope']) }
        : { idp_entity_id: row.issuer, ...pick(row, ['idp_sso_url', 'idp_certificate']) };
    const fields = { kind: row.kind, ...ofKind, ...pick(row, ['just_in_time', ...Object.keys(ssoDefaults)]) };
    return [{ id: orgId, fields, isStoredSecret: (_, value) => isStoredSecret(secrets, row, String(value)) }];
  },
  complete(item, current) {
    const given = item as PutSso;
    const kind = given.kind ?? (given.idp_entity_id === undefined ? 'oidc' : 'saml');
    const stored = current?.fields.idp_certificate;
    const isSameCertificate = bareCertificate(stored) === bareCertificate(item.idp_certificate);
    return {
      ...ssoDefaults,
      ...(kind === 'oidc' && { scope: oidcScope }),
      just_in_time: defaultJustInTime(kind, given),
      ...item,
      kind,
      ...(kind === 'saml' && isSameCertificate && { idp_certificate: stored }),
      allowed_email_domains: (given.allowed_email_domains ?? []).map((domain) => domain.toLowerCase()),
    };
  },
  create: (body) => ({ route: 'sso.put', body }),
  change: (_resource, _changed, body) => ({ route: 'sso.put', body }),
  remove: () => ({ route: 'sso.remove' }),
};

/** The certificate without its PEM lines, which are optional. */
function bareCertificate(text: unknown): string | undefined {
  return typeof text === 'string'
    ? text.replaceAll(/-----(BEGIN|END) CERTIFICATE-----/g, '').replaceAll(/\s+/g, '')
    : undefined;
}

export const ipAllowList: SingleSection = {
  shape: 'single',
  name: 'ip_allow_list',
  label: 'IP allow-list',
  readRoute: 'org.ip_allow_list.read',
  defaults: { cidrs: [] },
  async load({ db, orgId }) {
    const org = await findOrg(db, orgId);
    return [{ id: orgId, fields: { cidrs: org?.ip_allow_list ?? [] } }];
  },
  change: (_resource, _changed, { cidrs }, { force }) => ({
    route: 'org.ip_allow_list.put',
    body: { cidrs, force },
  }),
};
