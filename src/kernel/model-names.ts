/**
 * Names of models: gateways, clouds and SDKs call the same model by different names, with a prefix for the host or the region, or a
 * suffix for the date of its release. Pure functions.
 */
import { hostOfPrefix } from './model-hosts.ts';

/** First segments that can be removed: they change neither the model nor its price. */
const plainSegments = new Set([
  'anthropic',
  'chat',
  'codestral',
  'cohere',
  'cohere_chat',
  'converse',
  'deepseek',
  'gemini',
  'github',
  'google',
  'invoke',
  'mistral',
  'mistralai',
  'openai',
  'openrouter',
  'responses',
  'text-completion-openai',
  'x-ai',
  'xai',
  'z-ai',
  'zai',
]);

const regionSegments = new Set(['apac', 'au', 'ca', 'eu', 'global', 'global-standard', 'jp', 'uk', 'us']);

/** Region of a cloud as a segment: `bedrock/us-east-1/…`. */
const cloudRegion = /^[a-z]{2}(-gov)?-[a-z]+-\d$/;

/** Geography of an inference profile of Amazon Bedrock: `us.anthropic.…`. */
const bedrockGeography = /^(us|us-gov|eu|apac|ap|au|ca|jp|sa|global)\.(?=[a-z0-9]+\.)/;
const bedrockVendor =
  /^(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|twelvelabs|writer|xai|zai)\./;
/** Revisions of Amazon Bedrock: `:0` and `:0:200k`, then `-v1`. */
const bedrockRevisions = [/(:\d+[a-z]*)+$/, /-v\d+$/];

export interface BedrockName {
  /** The geography of an inference profile; undefined for the model itself. */
  readonly geography: string | undefined;
  /** The id of the model. */
  readonly id: string;
}

/** Returns the parts of an id of Amazon Bedrock; undefined if the name is none. */
export function bedrockNameOf(name: string): BedrockName | undefined {
  const geography = bedrockGeography.exec(name)?.[0] ?? '';
  const id = name.slice(geography.length);
  return bedrockVendor.test(id) ? { geography: geography.slice(0, -1) || undefined, id } : undefined;
}

/** A model of Google Cloud, and its location. */
const cloudModel = /^projects\/[^/]+\/locations\/([^/]+)\/publishers\//;
/** The region of an AWS resource name. */
const awsRegion = /^arn:aws[a-z-]*:bedrock:([a-z0-9-]*):/;

/** Bounds the work for names that repeat a prefix: names come from callers. */
const prefixesMax = 8;

/** A name without some of its prefixes, and the host and region that those prefixes name. */
export interface ShorterName {
  readonly name: string;
  /** The host that the prefixes name (`model-hosts.ts`); null: none. */
  readonly host: string | null;
  /** The region that the prefixes name; null: none. */
  readonly region: string | null;
}

/** Returns the names that remain as prefixes are removed one by one, the longest first. Empty if the name has none. */
export function shorterNames(name: string): ShorterName[] {
  const names: ShorterName[] = [];
  let rest: ShorterName = { name, host: null, region: null };
  for (let next = withoutFirstPrefix(rest); next !== undefined && names.length < prefixesMax; ) {
    names.push(next);
    rest = next;
    next = withoutFirstPrefix(rest);
  }
  if (bedrockVendor.test(rest.name)) {
    const bare = rest.name.replace(bedrockVendor, '');
    const at = { ...rest, host: 'bedrock' };
    names.push({ ...at, name: bare }, ...withoutRevisions(bare).map((one) => ({ ...at, name: one })));
  }
  return names.filter((one) => one.name !== '');
}

/** Returns the host that the prefixes of a name say; null: none. */
export function hostOfName(name: string): string | null {
  return shorterNames(name).find(({ host }) => host !== null)?.host ?? null;
}

/** Returns the names of `shorterNames` alone. */
export function withoutProviderPrefixes(name: string): string[] {
  return shorterNames(name).map((one) => one.name);
}

function withoutFirstPrefix({ name, host, region }: ShorterName): ShorterName | undefined {
  if (name.startsWith('arn:')) {
    const slash = name.lastIndexOf('/');
    const named = awsRegion.exec(name)?.[1];
    return slash === -1
      ? undefined
      : {
          name: name.slice(slash + 1),
          host: named === undefined ? host : 'bedrock',
          region: named || region,
        };
  }
  const collection = name.lastIndexOf('models/');
  if (collection === 0 || name[collection - 1] === '/') {
    const location = cloudModel.exec(name)?.[1];
    return {
      name: name.slice(collection + 'models/'.length),
      host: location === undefined ? (hostOfPrefix(name.slice(0, name.indexOf('/'))) ?? host) : 'vertex_ai',
      region: location ?? region,
    };
  }
  const slash = name.indexOf('/');
  if (slash !== -1) {
    const segment = name.slice(0, slash);
    const rest = name.slice(slash + 1);
    const named = hostOfPrefix(segment);
    if (named !== undefined) {
      return { name: rest, host: named, region };
    }
    if (regionSegments.has(segment) || cloudRegion.test(segment)) {
      return { name: rest, host, region: segment };
    }
    return plainSegments.has(segment) ? { name: rest, host, region } : undefined;
  }
  const geography = bedrockGeography.exec(name);
  return geography === null
    ? undefined
    : { name: name.slice(geography[0].length), host: 'bedrock', region: geography[1] ?? region };
}

function withoutRevisions(name: string): string[] {
  const names: string[] = [];
  let rest = name;
  for (const revision of bedrockRevisions) {
    if (revision.test(rest)) {
      rest = rest.replace(revision, '');
      names.push(rest);
    }
  }
  return names;
}

const dateSuffixes = [
  /-20\d{2}-[01]\d-[0-3]\d$/,
  /[-@]20\d{2}[01]\d[0-3]\d$/,
  /[-@]00\d$/,
  /[-@:]latest$/,
  /@default$/,
];

/** Returns the name without the date or number of its release; undefined if it ends with none. */
export function withoutDateSuffix(name: string): string | undefined {
  const suffix = dateSuffixes.find((form) => form.test(name));
  const rest = suffix && name.replace(suffix, '');
  return rest === '' ? undefined : rest;
}

const dottedClaude = /^claude-.*\d\.\d/;

/** Returns the name of a Claude model with dashes in its version, as Anthropic has it: routers write `claude-sonnet-4.6`. */
export function withDashedVersion(name: string): string | undefined {
  return dottedClaude.test(name) ? name.replace(/(\d)\.(?=\d)/g, '$1-') : undefined;
}
