/**
 * The ids by which Amazon Bedrock calls models. A connection calls the id that it lists, otherwise the inference profile of its geography, or
 * the model in its region: a call never leaves the geography because of its name.
 */
import { bedrockNameOf, withoutDateSuffix, withoutProviderPrefixes } from '../../../../kernel/model-names.ts';
import { readCatalog } from '../../../spend/models/index.ts';
import type { ModelsAt } from './provider-kind.ts';

const resourceName = /^arn:aws[a-z-]*:bedrock:/;
/** Resources that name their model. The others are like deployments: `application-inference-profile`, `provisioned-model`. */
const namingResource = /^arn:aws[a-z-]*:bedrock:[^:]*:[^:]*:(foundation-model|inference-profile)\/[^/]+$/;
interface KnownModel {
  /** The id of the model itself. */
  readonly id: string;
  /** Geographies that have an inference profile of it. */
  readonly profiles: Set<string>;
}

/** Models by every name without a place and a release. Built on first use. */
let known: ReadonlyMap<string, KnownModel> | undefined;

/** Returns the id of a model; undefined if it is not one of Bedrock, or a resource that does not name its model. */
export function bedrockId(model: string, { modelNames, calledAt }: ModelsAt): string | undefined {
  if (resourceName.test(model)) {
    return namingResource.test(model) ? model : undefined;
  }
  const bare = model.replace(/^bedrock\//, '');
  if (isId(bare)) {
    return bare;
  }
  const names = namesOf(bare);
  const listed = [...modelNames].find(
    (name) => isId(name) && namesOf(name).some((one) => names.includes(one)),
  );
  if (listed !== undefined) {
    return listed;
  }
  known ??= knownModels();
  const meant = names.map((name) => known?.get(name)).find((one) => one !== undefined);
  if (meant !== undefined) {
    return atRegion(meant, calledAt.region ?? '');
  }
  return modelNames.has(model) ? model : undefined;
}

/** Returns the id of the model of an inference profile. */
export function foundationOf(id: string): string {
  return bedrockNameOf(id.slice(id.lastIndexOf('/') + 1))?.id ?? id;
}

function isId(name: string): boolean {
  return bedrockNameOf(name) !== undefined;
}

/** Returns the name without prefixes and revisions, with and without the date of its release. */
function namesOf(name: string): string[] {
  const last = withoutProviderPrefixes(name).at(-1) ?? name;
  const undated = withoutDateSuffix(last);
  return undated === undefined ? [last] : [last, undated];
}

function knownModels(): ReadonlyMap<string, KnownModel> {
  const byId = new Map<string, KnownModel>();
  for (const { model, aliases = [] } of readCatalog().models) {
    for (const name of [model, ...aliases]) {
      const parts = name.includes('/') || name.includes('@') ? undefined : bedrockNameOf(name);
      if (parts !== undefined) {
        const one = byId.get(parts.id) ?? { id: parts.id, profiles: new Set<string>() };
        byId.set(parts.id, one);
        if (parts.geography !== undefined) {
          one.profiles.add(parts.geography);
        }
      }
    }
  }
  // Of several releases of a model, its name without a date means the latest.
  const models = [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return new Map(models.flatMap((one) => namesOf(one.id).map((name) => [name, one] as const)));
}

/** Geographies of a region, the one with the fewest places first. */
const geographiesOf: readonly (readonly [region: RegExp, geographies: readonly string[]])[] = [
  [/^us-gov-/, ['us-gov']],
  [/^us-/, ['us']],
  [/^eu-/, ['eu']],
  [/^ap-northeast-[13]$/, ['jp', 'apac']],
  [/^ap-southeast-[24]$/, ['au', 'apac']],
  [/^ap-/, ['apac']],
  [/^ca-/, ['ca', 'us']],
  [/^sa-/, ['sa']],
];

function atRegion({ id, profiles }: KnownModel, region: string): string {
  const [, names = []] = geographiesOf.find(([pattern]) => pattern.test(region)) ?? [];
  const geography = names.find((name) => profiles.has(name));
  return geography === undefined ? id : `${geography}.${id}`;
}
