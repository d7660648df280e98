/**
 * The envelope of a format: a cloud that serves the models of a vendor takes the requests of the vendor's API below other paths, with
 * some members of the body elsewhere, and may frame the events of streams in another way. Responses are those of the format.
 */
import type { Fields } from '../../../../kernel/providers/fields.ts';
import type { StreamFraming } from '../../../../kernel/providers/stream-framing.ts';

/** Imported as `Envelope`; that of API errors has this name already. */
export type { FormatEnvelope as Envelope };

export interface FormatEnvelope {
  /** The path of plain calls below the base URL. `{model}` in it is the model. */
  readonly path: string;
  /** The path of streams. */
  readonly streamPath: string;
  /** Members of the body that the path has instead. */
  readonly removed: readonly string[];
  /** Members that the cloud requires, with their values. */
  readonly added: Readonly<Record<string, string>>;
  /** Headers of the format that the cloud does not take, with the values that clients of the format send. Beta features are members. */
  readonly headers: Readonly<Record<string, string>>;
  /** True if the cloud takes the header with beta features, so that they need not be members. */
  readonly takesBetaHeader?: boolean;
  /** Returns the name by which clients of the format know a model of the cloud. Default: that of the cloud. */
  readonly nameOf?: (model: string) => string;
  /** The framing of its streams, if it is not that of the format. */
  readonly framing?: StreamFraming;
  /** Counts the tokens of a call; undefined if the cloud cannot. */
  readonly countTokens: TokenCounting | undefined;
}

export interface TokenCounting {
  /** The path below the base URL. `{model}` in it is the model. */
  readonly path: string;
  /** Returns the id by which tokens of a model are counted, if it is not that of its calls. */
  modelOf?(id: string): string;
  /** Returns the body for the request of a client, whose model is that of the connection. */
  bodyOf(body: Buffer): Buffer;
  /** Returns the response in the format of the client. */
  answerOf(answer: Fields): object;
}
