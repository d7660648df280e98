/** The operations that the gateway serves, and the interface of its path prefixes. */
import {
  type Connection,
  type Envelope,
  kindOf,
  modelIdAt,
  type WantedConnection,
} from '../../capabilities/integration/connections/index.ts';
import type { CallFormat, ErrorFormat } from '../../kernel/providers/call-format.ts';

/** A path prefix. Each has a file, and a line in `index.ts`. */
export interface ServedPath {
  readonly prefix: string;
  /** The query parameter in which clients may send their key, instead of in a header. It is never forwarded. */
  readonly keyParameter?: string;
  /** Returns the key of a client that signs its requests with it, and sends it as the id of the signing key. */
  signingKeyOf?(authorization: string): string | undefined;
  /** The format of errors that do not belong to a call. */
  readonly format: CallFormat;
  /** Returns the operation; undefined for a path or method that is not served. */
  operationOf(request: PathRequest): GatewayOperation | undefined;
}

export interface PathRequest {
  /** The HTTP method. HEAD is replaced by GET. */
  readonly verb: string;
  /** Segments of the path below the prefix. */
  readonly segments: readonly string[];
  /** The query string with its question mark, or nothing. */
  readonly query: string;
}

/** A request that is forwarded. */
interface Forwarded {
  readonly format: CallFormat;
  readonly wanted: WantedConnection;
  /** The path after that of the format. */
  readonly below: string;
  readonly query: string;
  /** The version of the API that the client calls, if the path at the provider has it. */
  readonly version?: string;
  /** The envelope in which the client has sent the call. */
  readonly envelope?: Envelope;
  /** The form of errors, if it is not that of the format. */
  readonly errors?: ErrorFormat;
}

export interface MeteredOperation extends Forwarded {
  readonly kind: 'metered';
  /** The model, if the path has it instead of the body. */
  readonly deployment?: string;
  /** Whether the response is streamed, if the path says so instead of the body. */
  readonly isStream?: boolean;
  /** True if the client reads a stream as a JSON array, although the provider is asked for events. */
  readonly isArray?: boolean;
}

/** Forwarded without a hold, because providers do not charge for it. For `free`, the model is in the body unless the path has it. */
export type FreeOperation = Forwarded &
  (
    | { readonly kind: 'free'; readonly deployment?: string }
    /** Reads, deletes or cancels a stored response. Its connection is unknown. */
    | { readonly kind: 'stored-response'; readonly responseId: string }
  );

export type GatewayOperation =
  | MeteredOperation
  | FreeOperation
  | {
      readonly kind: 'models';
      readonly wanted: WantedConnection;
      readonly list: ModelList;
      /** The only model that is asked for. */
      readonly model?: string;
    }
  | { readonly kind: 'root' }
  /** A path of the provider that is refused. The reason is shown to the client. */
  | { readonly kind: 'unserved'; readonly reason: string };

export interface ServedModel {
  readonly model: string;
  readonly provider: string | null;
}

export interface ModelList {
  /**
   * Returns false for providers whose models cannot be called below this prefix. Needed because a connection without a list of
   * models accepts every name.
   */
  lists(provider: string | null): boolean;
  bodyOf(models: readonly ServedModel[]): object;
}

/** Returns the path and query at a connection. A connection that is called by its name may speak formats that its kind does not list. */
export function providerPath(
  connection: Connection,
  { format, below, query, version = '' }: Forwarded,
  model: string | undefined,
  isStream: boolean,
): string {
  const { paths, envelopes, versions } = kindOf(connection);
  const envelope = envelopes.get(format);
  const path =
    envelope === undefined
      ? `${paths.get(format) ?? format.path}${below}${query}`
      : isStream
        ? envelope.streamPath
        : envelope.path;
  const id = model === undefined ? undefined : modelIdAt(connection, model);
  const ofModel = id === undefined ? path : path.replace('{model}', () => encodeURIComponent(id));
  return ofModel.replace('{version}', versions[version] ?? version);
}
