/** A connection to a model provider, as the gateway uses it, and the interface to find one. */

import type { CalledAt } from '../../../kernel/model-hosts.ts';
import type { CallFormat } from '../../../kernel/providers/call-format.ts';
import type { Credential } from '../../../platform/cloud-credentials/credential.ts';
import type { ConnectionKind } from './kinds/index.ts';

export interface ConnectionTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Between two chunks of a response. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface Connection {
  readonly id: string;
  readonly name: string;
  readonly kind: ConnectionKind;
  /**
   * URL that the paths of its kind are appended to, without a trailing slash, as the provider's SDK takes it: with the version
   * for the API of OpenAI (`https://api.openai.com/v1` + `/chat/completions`), without it for that of Anthropic
   * (`https://api.anthropic.com` + `/v1/messages`). Azure: `https://{resource}.openai.azure.com/openai/v1`.
   */
  readonly baseUrl: string;
  /** Where its models are called; without a provider if nothing is known of the host of its URL. */
  readonly calledAt: CalledAt;
  /** Region to sign requests for; undefined if none is known. */
  readonly region: string | undefined;
  readonly priority: number;
  readonly weight: number;
  /** The names in its list of models, without patterns. */
  readonly modelNames: ReadonlySet<string>;
  /** Headers to add to each request, with lower-case names. They never contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Models by the name of their deployment, as its owner states them. */
  readonly deploymentModels: Readonly<Record<string, string>>;
  readonly timeouts: ConnectionTimeouts;
  /**
   * Returns what to authenticate with, which must never be logged. Returns no promise if it is cached. Throws or rejects with
   * `ConnectionKeyUnavailable` if there is none.
   */
  credential(): Credential | Promise<Credential>;
  /**
   * Returns the credential before the last rotation while it may be used after a 401 or 403 with `credential()`; otherwise undefined.
   * Never rejects.
   */
  previousCredential(): Credential | Promise<Credential | undefined> | undefined;
}

/** An environment variable that the operator allows as the source of a key. */
export interface KeyVariable {
  /** Undefined if the variable is not set. */
  readonly value: string | undefined;
  /** The only URL that the key may be sent to; undefined: the default URL of the kind of connection. */
  readonly baseUrl: string | undefined;
}

/**
 * The key cannot be decrypted, its environment variable is unset or no longer allowed, or it is a key of Purser. The message has no
 * secrets.
 */
export class ConnectionKeyUnavailable extends Error {
  override readonly name = 'ConnectionKeyUnavailable';
}

export type WantedConnection =
  /** All connections that speak the format. Those of any provider take part only if they name their models. */
  | { readonly format: CallFormat }
  /** All connections of this kind. */
  | { readonly kind: ConnectionKind }
  /** The connection of this name. */
  | { readonly connection: string };

export interface Connections {
  /**
   * Returns the connections in the order in which they are to be tried: those that name the model exactly, then those with a
   * matching pattern, then those without `models`; within these by priority (the lowest number first), then at random by weight.
   * Connections whose breaker is open come last. Empty if none serves the model. Without a model every one serves it. Returns no
   * promise if the org is cached.
   */
  candidates(
    orgId: string,
    wanted: WantedConnection,
    model: string | undefined,
  ): readonly Connection[] | Promise<readonly Connection[]>;
  /** Call when the provider has responded, also with a status of the client's fault (4xx other than 401, 403, 408 and 429). */
  succeeded(connectionId: string): void;
  /** Call when an attempt failed: 408, 429, 5xx, 401 and 403 of the provider, a timeout, or a lost connection. */
  failed(connectionId: string, failure: AttemptFailure): void;
}

export const failureReasons = ['status', 'timeout', 'unreachable', 'key_unavailable'] as const;

/** Why an attempt failed. Without text of the provider, which may contain a part of the key. */
export type AttemptFailure =
  | { readonly reason: 'status'; readonly status: number }
  | { readonly reason: Exclude<(typeof failureReasons)[number], 'status'> };
