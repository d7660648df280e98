/** The registry of kinds of connections, in the order in which they are shown. */
import { knownHostOf } from '../../../../kernel/known-hosts.ts';
import type { CalledAt } from '../../../../kernel/model-hosts.ts';
import type { CallFormat } from '../../../../kernel/providers/call-format.ts';
import { anthropic } from './anthropic.ts';
import { azureOpenAi } from './azure-openai.ts';
import { bedrock } from './bedrock.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';
import { openAiCompatible } from './openai-compatible.ts';
import type { ModelsAt, ProviderKind, ProviderUrls } from './provider-kind.ts';
import { vertex } from './vertex.ts';

export const connectionKinds = {
  openai,
  anthropic,
  openai_compatible: openAiCompatible,
  azure_openai: azureOpenAi,
  gemini,
  vertex,
  bedrock,
} as const satisfies Record<string, ProviderKind>;
export type ConnectionKind = keyof typeof connectionKinds;

export const kindNames = Object.keys(connectionKinds) as readonly ConnectionKind[];

export function kindOf({ kind }: { readonly kind: ConnectionKind }): ProviderKind {
  return connectionKinds[kind];
}

export function isOfKnownKind({ kind }: { readonly kind: string }): boolean {
  return Object.hasOwn(connectionKinds, kind);
}

/** Returns the formats that connections of a kind speak, as they are or in an envelope. */
export function formatsOf(kind: ProviderKind): readonly CallFormat[] {
  return [...kind.paths.keys(), ...kind.envelopes.keys()];
}

export function speaks(connection: { readonly kind: ConnectionKind }, format: CallFormat): boolean {
  const { paths, envelopes } = kindOf(connection);
  return paths.has(format) || envelopes.has(format);
}

/** Returns the name by which the provider of a connection knows a model. */
export function modelIdAt(connection: ModelsAt & { readonly kind: ConnectionKind }, model: string): string {
  return kindOf(connection).modelId?.(model, connection) ?? model;
}

/** Returns true if the name may be that of a deployment: it says nothing about the model. */
export function mayBeDeployment(
  connection: ModelsAt & { readonly kind: ConnectionKind },
  name: string,
): boolean {
  const { servesDeployments, modelId } = kindOf(connection);
  return servesDeployments && modelId?.(name, connection) === undefined;
}

/** Where the models of a connection are called: its provider is null if nothing is known of its host. A known host names the region. */
export function calledAtOf({
  kind,
  baseUrl,
  region = null,
}: {
  readonly kind: ConnectionKind;
  readonly baseUrl: string;
  readonly region?: string | null;
}): CalledAt {
  const { account, provider } = kindOf({ kind });
  const known = knownHostOf(baseUrl) ?? { provider, region };
  const location = account?.pattern.exec(baseUrl)?.groups?.location;
  return location === undefined ? known : { ...known, region: location };
}

const allKinds: readonly ProviderKind[] = Object.values(connectionKinds);

/** Headers in which clients of providers send their key. */
export const keyHeaders: ReadonlySet<string> = new Set(allKinds.flatMap((kind) => kind.keyHeaders));

/** Headers that select an account of a provider. */
export const accountHeaders: ReadonlySet<string> = new Set(allKinds.flatMap((kind) => kind.accountHeaders));

/** URLs of connections that name none. */
export type DefaultUrls = Readonly<Partial<Record<ConnectionKind, string>>>;

export function defaultUrlsOf(deployment: ProviderUrls): DefaultUrls {
  const urls: Partial<Record<ConnectionKind, string>> = {};
  for (const name of kindNames) {
    const { defaultUrl } = kindOf({ kind: name });
    if (defaultUrl !== undefined) {
      urls[name] = defaultUrl(deployment);
    }
  }
  return urls;
}
