/** The operations that the gateway serves. Every other path below its prefixes is 404: nothing passes unmetered. */
import type { WantedConnection } from '../capabilities/integration/connections/index.ts';
import type { CallFormat } from '../kernel/providers/call-format.ts';
import { callFormats } from '../kernel/providers/formats.ts';

interface Target {
  readonly dialect: 'openai' | 'anthropic';
  readonly wanted: WantedConnection;
  /** The query string with its question mark, or nothing. */
  readonly query: string;
}

export type Operation = Target &
  (
    | {
        readonly kind: 'metered';
        readonly format: CallFormat;
        readonly providerPath: string;
        /** The model, if the path names it and not the body. */
        readonly deployment?: string;
      }
    /** Forwarded without a hold, because providers do not charge for it. The model is in the body. */
    | { readonly kind: 'free'; readonly providerPath: string }
    /** Reads, deletes or cancels a stored response, whose connection is not known. */
    | { readonly kind: 'stored-response'; readonly providerPath: string; readonly responseId: string }
    | { readonly kind: 'models' }
    | { readonly kind: 'root' }
  );

const openAiPosts: Readonly<Record<string, CallFormat>> = {
  'chat/completions': callFormats.chat,
  responses: callFormats.responses,
  embeddings: callFormats.embeddings,
};

export const prefixes = { openai: '/openai', anthropic: '/anthropic', compat: '/compat' } as const;

/** Metered operations by URL: clients use few, and parsing one costs more than the rest of the routing. */
const metered = new Map<string, Operation>();
const meteredMax = 1_000;
const cachedUrlMax = 200;

/** Parameters of metered calls that are forwarded. A provider might read others instead of members of the body. */
const meteredParameters: ReadonlySet<string> = new Set(['beta']);

function withParameters(query: string, names: ReadonlySet<string>): string {
  const kept = [...new URLSearchParams(query)].filter(([name]) => names.has(name));
  return kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
}

/** Returns undefined for a path or method that the gateway does not serve. HEAD is treated as GET. */
export function operationOf(method: string, url: string): Operation | undefined {
  const known = method === 'POST' ? metered.get(url) : undefined;
  if (known !== undefined) {
    return known;
  }
  const parsed = parseOperation(method, url);
  const operation =
    parsed?.kind === 'metered' && parsed.query !== ''
      ? { ...parsed, query: withParameters(parsed.query, meteredParameters) }
      : parsed;
  if (operation?.kind === 'metered' && metered.size < meteredMax && url.length <= cachedUrlMax) {
    metered.set(url, operation);
  }
  return operation;
}

function parseOperation(method: string, url: string): Operation | undefined {
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? '' : url.slice(mark);
  const verb = method === 'HEAD' ? 'GET' : method;
  const [, prefix, ...segments] = path.split('/');
  switch (`/${prefix}`) {
    case prefixes.openai:
      return openAi(verb, segments, { dialect: 'openai', wanted: { format: callFormats.chat }, query });
    case prefixes.anthropic:
      return anthropic(verb, segments, {
        dialect: 'anthropic',
        wanted: { format: callFormats.messages },
        query,
      });
    case prefixes.compat: {
      const [name = '', ...rest] = segments;
      const connection = decoded(name);
      return connection === undefined
        ? undefined
        : compat(verb, rest, { dialect: 'openai', wanted: { connection }, query });
    }
    default:
      return undefined;
  }
}

/** `/compat/{connection}` is a base URL with `/v1` behind it, and the endpoint of an Azure client with `/openai`. */
function compat(verb: string, segments: readonly string[], target: Target): Operation | undefined {
  const [first, ...rest] = segments;
  if (first === 'openai') {
    return openAi(verb, rest, target);
  }
  return first === 'v1' ? versionedOpenAi(verb, rest, target) : undefined;
}

/** Returns the format of errors: that of the operation, or the usual one below its prefix. */
export function formatOf(operation: Operation | undefined, url: string): CallFormat {
  if (operation?.kind === 'metered') {
    return operation.format;
  }
  return url.startsWith(prefixes.anthropic) ? callFormats.messages : callFormats.chat;
}

function openAi(verb: string, segments: readonly string[], target: Target): Operation | undefined {
  const [version, ...rest] = segments;
  return version === 'v1' ? versionedOpenAi(verb, rest, target) : azure(verb, segments, target);
}

/**
 * The paths of Azure's clients, which append `/openai` to their endpoint and nothing else: operations that Azure serves by deployment,
 * whose name is in the path, and responses, whose body names it.
 */
function azure(verb: string, segments: readonly string[], given: Target): Operation | undefined {
  // The connection has its own `api-version`, or calls the API without dated versions.
  const query = withoutApiVersion(given.query);
  const target =
    'format' in given.wanted ? { ...given, query, wanted: azureConnections } : { ...given, query };
  const [collection] = segments;
  if (collection === 'responses' || collection === 'models') {
    return versionedOpenAi(verb, segments, target);
  }
  const path = deploymentPath.exec(segments.join('/'));
  const format = verb === 'POST' && path !== null ? openAiPosts[path[2] as string] : undefined;
  const deployment = path === null ? undefined : decoded(path[1] as string);
  return format === undefined || deployment === undefined
    ? undefined
    : { ...target, kind: 'metered', format, providerPath: `/${path?.[2]}`, deployment };
}

const azureConnections = { kind: 'azure_openai' } as const;
/** Clients do not encode the slash in the name of a model. */
const deploymentPath = /^deployments\/(.+)\/(chat\/completions|responses|embeddings)$/;

function withoutApiVersion(query: string): string {
  const parameters = new URLSearchParams(query);
  if (!parameters.has('api-version')) {
    return query;
  }
  parameters.delete('api-version');
  return parameters.size === 0 ? '' : `?${parameters}`;
}

function versionedOpenAi(verb: string, rest: readonly string[], target: Target): Operation | undefined {
  const path = rest.join('/');
  const format = verb === 'POST' && Object.hasOwn(openAiPosts, path) ? openAiPosts[path] : undefined;
  if (format !== undefined) {
    return { ...target, kind: 'metered', format, providerPath: `/${path}` };
  }
  if (verb === 'GET' && path === 'models') {
    return { ...target, kind: 'models' };
  }
  const [collection, id, action, more] = rest;
  const isResponse =
    collection === 'responses' && id !== undefined && /^[\w-]{1,200}$/.test(id) && more === undefined;
  const isServed =
    (action === undefined && (verb === 'GET' || verb === 'DELETE')) ||
    (action === 'cancel' && verb === 'POST');
  return isResponse && isServed
    ? { ...target, kind: 'stored-response', providerPath: `/${path}`, responseId: id }
    : undefined;
}

function anthropic(verb: string, segments: readonly string[], target: Target): Operation | undefined {
  const path = segments.join('/');
  switch (`${verb} ${path}`) {
    case 'POST v1/messages':
      return { ...target, kind: 'metered', format: callFormats.messages, providerPath: '/v1/messages' };
    case 'POST v1/messages/count_tokens':
      return { ...target, kind: 'free', providerPath: '/v1/messages/count_tokens' };
    case 'GET v1/models':
      return { ...target, kind: 'models' };
    case 'GET ':
      return { ...target, kind: 'root' };
    default:
      return undefined;
  }
}

function decoded(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
