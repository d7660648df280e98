/** The paths below `/openai`: those of SDKs of OpenAI have `/v1` first, and those of Azure's clients have not. */
import type { WantedConnection } from '../../capabilities/integration/connections/index.ts';
import { decoded, openAiFormats, openAiOperation } from './openai-operations.ts';
import type { GatewayOperation, PathRequest } from './operation.ts';

const azureConnections: WantedConnection = { kind: 'azure_openai' };
/** Clients do not encode the slash in the name of a model. */
const deploymentPath = new RegExp(`^deployments/(.+)/(${[...openAiFormats.keys()].join('|')})$`);

/** `wanted`: the connections to call; undefined: those that speak the format, or those of Azure for its clients. */
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
 * Azure's clients append `/openai` to their endpoint and nothing else: to operations that Azure serves by deployment, whose name is in the
 * path, and to responses, whose body names it.
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

/** The connection has its own version, or calls the API without dated versions. */
function withoutApiVersion(query: string): string {
  const parameters = new URLSearchParams(query);
  if (!parameters.has('api-version')) {
    return query;
  }
  parameters.delete('api-version');
  return parameters.size === 0 ? '' : `?${parameters}`;
}
