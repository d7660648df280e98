/**
 * A kind of connection: what differs between providers behind the same wire formats. Each has a file, and a line in `index.ts`. Kinds have
 * all members, in this order: objects of one hidden class are read faster.
 */
import type { CalledAt } from '../../../../kernel/model-hosts.ts';
import type { CallFormat } from '../../../../kernel/providers/call-format.ts';
import type { Credential } from '../../../../platform/cloud-credentials/credential.ts';
import type { CredentialSource } from '../../../../platform/cloud-credentials/credential-source.ts';
import type { Envelope } from './envelope.ts';

export interface ProviderKind {
  /** As people read it. */
  readonly label: string;
  /** As `purser connect` names it. */
  readonly commandName: string;
  /** Returns the URL of connections that name none. Undefined if each has to name one. */
  readonly defaultUrl: ((deployment: ProviderUrls) => string) | undefined;
  /** The provider of a URL whose host is not known (`kernel/known-hosts.ts`); null: any. */
  readonly provider: string | null;
  /** The parameters that a base URL has, if it has any. */
  readonly urlParameters: readonly string[];
  /** The end of its base URLs that names an account, if paths have that after the version of the API. Undefined for all other kinds. */
  readonly account: AccountPath | undefined;
  /**
   * The formats that it speaks, with the path of each below the base URL. `{version}` in it is that of the client, and `{account}` the end of
   * the base URL that names the account.
   */
  readonly paths: ReadonlyMap<CallFormat, string>;
  /** Its names of API versions that clients of other kinds name otherwise. */
  readonly versions: Readonly<Record<string, string>>;
  /**
   * The formats of another provider that it imitates for models of its own, with the function that returns the name of a model there; it
   * returns undefined for models that it does not serve so. Each has a path, too.
   */
  readonly imitated: ReadonlyMap<CallFormat, (model: string) => string | undefined>;
  /** The formats that it speaks in an envelope of its own. */
  readonly envelopes: ReadonlyMap<CallFormat, Envelope>;
  /**
   * Returns the id by which the provider calls a model, which clients may know by another name; undefined if it serves no such model.
   * Without this member, it takes every name as it is.
   */
  readonly modelId: ((model: string, at: ModelsAt) => string | undefined) | undefined;
  /** True if the id of a model has a place with prices of its own, which its responses do not name. */
  readonly isPricedById: boolean;
  /** Where connections may take credentials from instead of a key, in the order of advice. */
  readonly credentialSources: Readonly<Record<string, CredentialSource>>;
  /**
   * Adds the credential, once the request is complete otherwise. It has one of the types that keys and the sources of the kind return.
   */
  authenticate(request: UnsignedRequest, credential: Credential): void;
  /** Headers with a key of its clients. They are never forwarded, and no connection may set them. */
  readonly keyHeaders: readonly string[];
  /** Headers that select an account of its clients, which the key of a connection does not belong to. They are never forwarded. */
  readonly accountHeaders: readonly string[];
  /** The header by which a connection selects the service tier of all its calls. It is not forwarded for clients. */
  readonly tierHeader: string | undefined;
  /** True if any provider may be behind the URL, so that nothing is known of it but its formats. */
  readonly isAnyProvider: boolean;
  /** True if the name of a model is that in the catalog of the provider: it has the tokenizer and shows the output of that model. */
  readonly namesModels: boolean;
  /** True if calls may name a deployment. Its owner has chosen that name, and only the responses say which model is behind it. */
  readonly servesDeployments: boolean;
  /** True if the provider accepts no input beyond the context of the model in the catalog. */
  readonly enforcesContext: boolean;
  /** The formats whose streams contain everything that its plain responses have, in the documented places. */
  readonly wholeStreams: readonly CallFormat[];
  /** Returns true if the provider may have generated an answer, and charge for it, although it answered with an error. */
  mayChargeFailure(response: FailedResponse, answer: unknown): boolean;
  readonly test: TestCall;
}

export interface AccountPath {
  /** Matches a base URL that names an account. The group `location` is its region. */
  readonly pattern: RegExp;
  /** The form of base URLs, for people. */
  readonly form: string;
  /** A base URL below a host. */
  readonly example: string;
  /** Returns the base URL of a project in a location. */
  urlOf(project: string, location: string): string;
}

/** The models of a connection. */
export interface ModelsAt {
  /** The names in its list of models, without patterns. */
  readonly modelNames: ReadonlySet<string>;
  readonly calledAt: CalledAt;
}

/** URLs that the deployment sets. */
export interface ProviderUrls {
  readonly gatewayOpenaiUrl: string;
  readonly gatewayAnthropicUrl: string;
  readonly gatewayGeminiUrl: string;
}

/** A request without its credentials. A signature covers all of it. */
export interface UnsignedRequest {
  readonly connection: {
    readonly baseUrl: string;
    /** Undefined if the connection names none, and its URL does not tell. */
    readonly region: string | undefined;
  };
  readonly method: string;
  /** Path below the base URL. */
  readonly path: string;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer | undefined;
  /** The time of a signature. */
  readonly atMs: number;
}

export interface FailedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The call of `purser gateway-test`. */
export interface TestCall {
  /** Used if the connection names no model; undefined if there is none that every provider has. */
  readonly model: string | undefined;
  /** Our path of a call; undefined: the path that contains the name of the connection, so that no other connection can answer. */
  readonly path: string | undefined;
  bodyOf(model: string, text: string, maxOutputTokens: number): object;
}
