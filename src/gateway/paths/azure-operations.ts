/** The paths below `/openai`. OpenAI's SDKs put `/v1` first; Azure's clients do not. */
import type { WantedConnection } from '../../capabilities/integration/connections/index.ts';
import { decoded, openAiFormats, openAiOperation } from './openai-operations.ts';
import type { GatewayOperation, PathRequest } from './operation.ts';

const azureConnections: WantedConnection = { kind: 'azure_openai' };
/** The name may contain a slash, because clients do not encode slashes in model names. */
const deploymentPath = new RegExp(`^deployments/(.+)/(${[...openAiFormats.keys()].join('|')})$`);

/**
 * Returns the operation. `wanted` selects the connections. If it is undefined, those that speak the format are called, and for
 * Azure's clients those of Azure.
 */
export function endpointOperation(
  { verb, segments, query }: PathRequest,
  wanted: WantedConnection | undefined,
): GatewayOperation | undefined {
  const [version, ...rest] = segments;
  return version === 'v1'
    ? openAiOperation({ verb, segments: rest, query }, wanted)
    : azureOperation({ verb, segments, query: withoutApiVersion(query) }, wanted ?? azureConnections);
}

/**
 * Returns the operation of an Azure client. Such clients append `/openai` to their endpoint. Operations that Azure serves by
 * deployment have its name in the path; responses have it in the body.
 */
function azureOperation(
  { verb, segments, query }: PathRequest,
  wanted: WantedConnection,
): GatewayOperation | undefined {
  const [collection] = segments;
  if (collection === 'responses' || collection === 'models') {
    return openAiOperation({ verb, segments, query }, wanted);
  }
  const [, name = '', path = ''] = deploymentPath.exec(segments.join('/')) ?? [];
  const format = verb === 'POST' ? openAiFormats.get(path) : undefined;
  const deployment = decoded(name);
  return format === undefined || deployment === undefined
    ? undefined
    : { kind: 'metered', format, wanted, below: '', query, deployment };
}

/** Removes the API version of the client. The connection has its own version, or uses the API without dated versions. */
function withoutApiVersion(query: string): string {
  const parameters = new URLSearchParams(query);
  if (!parameters.has('api-version')) {
    return query;
  }
  parameters.delete('api-version');
  return parameters.size === 0 ? '' : `?${parameters}`;
}
