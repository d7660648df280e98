/** The servers of the gateway rows, all in front of the same provider: Purser, a bare reverse proxy, and the peers that can be installed. */
import { type BenchOrg, orgWithEightLimits, scope } from '../bench-org.ts';
import {
  type ServerProcess,
  type ServiceProcess,
  type StartOptions,
  startBareServer,
  startService,
} from '../processes.ts';
import { type Absent, type GatewayServer, startLiteLlm, startPortkey } from './peers.ts';

export interface Provider extends ServerProcess {
  bill(): Promise<Bill>;
  /** Sets the behaviour and resets the bill. */
  behave(behaviour: Behaviour): Promise<void>;
}

export interface Behaviour {
  /** Output of an answer, at most. */
  readonly tokens?: number;
  /** Pause between two tokens of a stream; 0 sends them at once. */
  readonly everyMs?: number;
  /** Sends the time of the monotonic clock in nanoseconds as the text of each token. */
  readonly timed?: boolean;
}

export interface Bill {
  readonly requests: number;
  /** Requests that were answered to the end. */
  readonly completed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly usd: number;
}

/** A way to the provider. */
export interface Way extends GatewayServer {
  readonly name: string;
  /** Path of chat completions. */
  readonly path: string;
}

export async function startProvider(): Promise<Provider> {
  const started = await startBareServer('./gateway/provider.js', {});
  const control = `http://127.0.0.1:${started.port}/control`;
  return {
    ...started,
    bill: async () => (await (await fetch(control)).json()) as Bill,
    async behave(behaviour) {
      await fetch(control, { method: 'PUT', body: JSON.stringify(behaviour) });
    },
  };
}

const openAiPath = '/v1/chat/completions';

/** The provider itself, without anything before it. */
export function direct(provider: Provider): Way {
  return { ...provider, name: 'direct', path: openAiPath, headers: {} };
}

export async function floor(provider: Provider): Promise<Way> {
  const started = await startBareServer('./gateway/reverse-proxy.js', { port: provider.port });
  return { ...started, name: 'bare proxy', path: openAiPath, headers: {} };
}

export interface PurserWay extends Way {
  readonly service: ServiceProcess;
  readonly org: BenchOrg;
}

/** The service with a connection to the provider. Eight limits apply to each call. */
export async function purser(provider: Provider, options: StartOptions = {}): Promise<PurserWay> {
  const settings = { SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true', ...options.settings };
  const service = await startService({ ...options, settings });
  const org = await orgWithEightLimits(service);
  await connect(service, org, provider);
  return { ...purserWay(service, await gatewayKey(service, org)), service, org };
}

function purserWay(service: ServiceProcess, key: string): Way {
  const headers = { authorization: `Bearer ${key}` };
  return { ...service, name: 'Purser', path: `/openai${openAiPath}`, headers };
}

export async function connect(service: ServiceProcess, org: BenchOrg, provider: Provider): Promise<void> {
  const connection = {
    name: 'bench',
    kind: 'openai',
    base_url: `http://127.0.0.1:${provider.port}/v1`,
    api_key: 'provider',
  };
  await service.call('POST', `/v1/orgs/${org.id}/connections`, connection, org.key);
}

export async function gatewayKey(service: ServiceProcess, { id }: BenchOrg): Promise<string> {
  const body = { name: 'gateway', role: 'member', scopes: ['gateway:call'], attribution: scope };
  const { secret } = await service.post<{ secret: string }>(`/v1/admin/orgs/${id}/keys`, body);
  return secret;
}

/** Returns the peers that could be started, and a line for each that could not. */
export async function peers(provider: Provider): Promise<{ started: Way[]; notes: string[] }> {
  const all = [
    { name: 'Portkey', peer: await startPortkey(provider.port) },
    { name: 'LiteLLM', peer: await startLiteLlm(provider.port) },
  ];
  return {
    started: all.flatMap(({ name, peer }) => (isAbsent(peer) ? [] : [{ ...peer, name, path: openAiPath }])),
    notes: all.flatMap(({ name, peer }) =>
      isAbsent(peer) ? [`${name} did not take part: ${peer.missing}`] : [],
    ),
  };
}

export function isAbsent(peer: GatewayServer | Absent): peer is Absent {
  return 'missing' in peer;
}
