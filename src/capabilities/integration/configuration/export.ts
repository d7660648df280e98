/** Exports the configuration of an organization: what differs from the defaults, without secrets. */
import { ApiError, found } from '../../../contract/api-error.ts';
import type { Database, Queryable } from '../../../platform/db/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { isSameValue } from './compare.ts';
import { untouchedDetector } from './governance-sections.ts';
import { groupBy } from './group-by.ts';
import { identity } from './plan.ts';
import type { CallContext, RouteCalls } from './route-calls.ts';
import { type Configuration, configurationVersion, type ExportedConfiguration } from './schema.ts';
import type { FileFields, FileSection, LoadContext, Resource } from './section.ts';
import { sections } from './sections.ts';

export interface ConfigurationExportDependencies {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly calls: RouteCalls;
}

/** Reads all sections in one snapshot, so that no application of another configuration is exported by half. */
export function exportConfiguration(
  deps: ConfigurationExportDependencies,
  context: CallContext,
  orgId: string,
): Promise<ExportedConfiguration> {
  return deps.db.transaction((tx) => exportFrom(tx, deps, context, orgId), {
    tenant: orgId,
    snapshot: true,
  });
}

async function exportFrom(
  db: Queryable,
  { secrets, calls }: ConfigurationExportDependencies,
  context: CallContext,
  orgId: string,
): Promise<ExportedConfiguration> {
  found(await findOrg(db, orgId));
  const omitted: { section: string; required: string }[] = [];
  const exported: Record<string, unknown> = { version: configurationVersion };
  const load: LoadContext = { db, orgId, now: context.now, secrets, callerId: '' };
  for (const section of sections) {
    const missing = missingAccess(calls, context, section);
    if (missing === undefined) {
      Object.assign(exported, await exportSection(section, load));
    } else {
      omitted.push({ section: section.name, required: missing });
    }
  }
  return { org_id: orgId, configuration: exported as Configuration, omitted };
}

function missingAccess(calls: RouteCalls, context: CallContext, section: FileSection): string | undefined {
  try {
    calls.checkAccess(context, section.exportRoute ?? section.readRoute);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    return 'required' in error.details ? String(error.details.required) : error.message;
  }
}

async function exportSection(section: FileSection, load: LoadContext): Promise<object> {
  const resources = (await section.load(load)).filter((resource) => isExported(section, resource));
  if (resources.length === 0) {
    return {};
  }
  if (section.shape === 'single') {
    const [resource] = resources;
    return { [section.name]: withoutDefaults(section, resource?.fields ?? {}) };
  }
  const sameKey = groupBy(resources, ({ fields }) =>
    identity([...section.key, ...(section.secondaryKey ?? [])], fields),
  );
  const items = resources.map((resource) => {
    const same =
      sameKey.get(identity([...section.key, ...(section.secondaryKey ?? [])], resource.fields)) ?? [];
    // The id tells resources apart that the file cannot.
    return { ...(same.length > 1 && { id: resource.id }), ...withoutDefaults(section, resource.fields) };
  });
  return { [section.name]: items };
}

/** A resource that always exists is exported if it was changed. */
function isExported(section: FileSection, { fields }: Resource): boolean {
  if (section.shape === 'list') {
    const untouched = untouchedDetector(fields.kind);
    const keyed = section.key.every((field) => fields[field] != null);
    return keyed && (untouched === undefined || !hasValues(fields, untouched));
  }
  return section.create !== undefined || section.name === 'org' || !hasValues(fields, section.defaults);
}

function hasValues(fields: FileFields, values: object): boolean {
  return Object.entries(values).every(([field, value]) => isSameValue(field, fields[field] ?? null, value));
}

/** Null is left out where the field has no other default: in a file it would mean the same as no line. */
function withoutDefaults(section: FileSection, fields: FileFields): FileFields {
  const defaults = untouchedDetector(fields.kind) === undefined ? section.defaults : {};
  return Object.fromEntries(
    Object.entries(fields).filter(([field, value]) => !isSameValue(field, value, defaults[field] ?? null)),
  );
}
