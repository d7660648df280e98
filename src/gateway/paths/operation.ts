/** The operations that the gateway serves, and what a path below one of its prefixes is. */
import {
  type Connection,
  kindOf,
  type WantedConnection,
} from '../../capabilities/integration/connections/index.ts';
import type { CallFormat } from '../../kernel/providers/call-format.ts';

/** A prefix of our paths. Each has a file, and a line in `index.ts`. */
export interface ServedPath {
  readonly prefix: string;
  /** The format of errors that belong to no call. */
  readonly format: CallFormat;
  /** Returns undefined for a path or method that is not served. */
  operationOf(request: PathRequest): GatewayOperation | undefined;
}

export interface PathRequest {
  /** HEAD is GET. */
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
  /** The part after the path of the format. */
  readonly below: string;
  readonly query: string;
}

export interface MeteredOperation extends Forwarded {
  readonly kind: 'metered';
  /** The model, if the path names it and not the body. */
  readonly deployment?: string;
}

/** Forwarded without a hold, because providers do not charge for it. `free`: the model is in the body. */
export type FreeOperation = Forwarded &
  (
    | { readonly kind: 'free' }
    /** Reads, deletes or cancels a stored response, whose connection is not known. */
    | { readonly kind: 'stored-response'; readonly responseId: string }
  );

export type GatewayOperation =
  | MeteredOperation
  | FreeOperation
  | { readonly kind: 'models'; readonly wanted: WantedConnection; readonly list: ModelList }
  | { readonly kind: 'root' };

export interface ServedModel {
  readonly model: string;
  readonly provider: string | null;
}

export interface ModelList {
  /** False for providers whose models are of no use below the prefix: a connection without a list of models accepts every name. */
  lists(provider: string | null): boolean;
  bodyOf(models: readonly ServedModel[]): object;
}

/** Returns the path and query of a request. A connection that is called by its name may speak formats that its kind does not. */
export function providerPath(connection: Connection, { format, below, query }: Forwarded): string {
  return `${kindOf(connection).paths.get(format) ?? format.path}${below}${query}`;
}
