/**
 * A wire format: what requests, responses, streams and errors of one operation look like. Each has a folder with one export, and a
 * line in `formats.ts`. Every format lists all members in the same order, because objects of one hidden class are read faster.
 */
import type { LimitUse } from '../limit-use.ts';
import type { CallUsage } from './call-usage.ts';
import type { Fields } from './fields.ts';
import type { FormatMembers } from './member-kinds.ts';
import type { OpenStream, StreamedCall } from './open-stream.ts';
import type { RefusedMember, RequestedService } from './requested-service.ts';
import type { ServerTools } from './server-tools.ts';
import type { ShownError } from './shown-error.ts';
import type { AssemblyFormat } from './stream-assembly.ts';
import type { StreamFraming } from './stream-framing.ts';
import type { OutputBound, StreamUsage } from './stream-usage.ts';

export interface CallFormat {
  /** Name in metrics, in the list of calls and in the registry. */
  readonly name: string;
  /** The end of the URL path at most providers. `{model}` in it is the model. */
  readonly path: string;
  readonly request: RequestFormat;
  readonly tools: ToolFormat;
  readonly response: ResponseFormat;
  readonly errors: ErrorFormat;
}

export type NameStyle = 'snake_case' | 'camelCase' | 'any';

export interface RequestFormat {
  readonly members: FormatMembers;
  /** Undefined if there is no output to limit. */
  readonly output: OutputFields | undefined;
  /** True if the path has the model, and says whether the response is streamed, instead of the body. */
  readonly isModelInPath: boolean;
  /** The style of its names. `any`: the provider reads each in camelCase and in snake_case. */
  readonly nameStyle: NameStyle;
  /** True if the input may be a list of token ids: each number is a token then. */
  readonly takesTokenIds: boolean;
  /** Returns the number of inputs, if a request may have several: each has a context of its own. */
  readonly inputsOf: ((body: Fields) => number) | undefined;
  /** True if a stream reports its usage only if `stream_options.include_usage` is set. */
  readonly requestsUsage: boolean;
  /** True if providers write to their cache only what the request marks, with `cache_control`. */
  readonly cachesOnRequest: boolean;
  /** True if models reason only if a request says so. */
  readonly reasonsOnRequest: boolean;
  /** The header and the member that turn on beta features, such as a larger context. */
  readonly betas: { readonly header: string | undefined; readonly member: string } | undefined;
  /** Returns the value that identifies the end user in the request. */
  endUserOf(body: Fields): unknown;
  /** Returns the service that the request asks for. The provider may serve it otherwise, and reports that. */
  serviceOf(body: Fields): RequestedService;
  /** Returns a member with which the request must not be sent; undefined if there is none. */
  refusalOf(body: Fields): RefusedMember | undefined;
}

/** Members that bound the output. */
export interface OutputFields {
  /** The documented names of the maximum. */
  readonly maxNames: readonly string[];
  /** The name to add to a request without a maximum. */
  readonly maxName: string;
  /** The name to add at compatible providers, many of which do not know the newer names. */
  readonly compatibleMaxName: string;
  /** Names of the object with these members, one for each spelling; undefined if they are members of the body. */
  readonly within: readonly string[] | undefined;
  /** Names of objects whose members the model gets besides. */
  readonly alsoIn: readonly string[];
  /** True if the provider reads the input and writes nothing for a maximum of 0. Others may take 0 for no maximum. */
  readonly mayBeZero: boolean;
  /** The documented name of the number of alternative answers. */
  readonly choicesName: string | undefined;
}

export interface ToolFormat {
  /** False if requests of this format never offer tools, whatever members they have. */
  readonly areOffered: boolean;
  /** True if a tool is known to be run by the client. */
  isRunByClient(tool: Fields): boolean;
  /** Returns the types of the tools that the provider runs in an entry of `tools`. */
  typesOf(tool: Fields): readonly unknown[];
  /** Types of tools of which the provider charges the tokens alone, besides those of `offered-tools.ts`. */
  readonly chargedByTokens: readonly string[];
  /** Types of the items and blocks with results of tools that the provider ran. Clients send them back in the next request. */
  readonly resultTypes: readonly string[];
  /** The member that bounds the calls of all tools together. */
  readonly callsMaxName: string | undefined;
  /** True if a tool has a maximum of its own calls, which the provider obeys. */
  readonly limitsEach: boolean;
  /** True if responses show the calls of tools of the provider. */
  readonly showsCalls: boolean;
  /** Returns the searches that a call of the model makes by itself. */
  searchesOf(model: unknown): ServerTools;
  /** True if `prompt` is a stored template, which may contain tools. */
  readonly hasStoredPrompts: boolean;
  /** Members that name stored content, and the types of tools that may be in it and are charged by the call; undefined if there are none. */
  readonly stored: { readonly names: readonly string[]; readonly types: readonly string[] } | undefined;
}

export interface ResponseFormat {
  /** True if the provider may keep responses, so that clients can use them by their id. */
  readonly isStored: boolean;
  /** Returns true if an object that an SDK returned is a response of this format. */
  isResponse(answer: Fields): boolean;
  /** Returns the usage in a whole response; undefined if it reports none that can be read. */
  usageOf(answer: unknown): CallUsage | undefined;
  /** Returns the part of a whole response that is output. */
  outputIn(answer: Fields): unknown;
  /** The framing of its streams, unless a connection has another one. */
  readonly framing: StreamFraming;
  /** Reads the events of a stream. `choices`: the number of alternative answers. */
  readStream(boundOf: OutputBound, choices: number): StreamUsage;
  /** Follows the events of a stream, to end it early. */
  openStream(call: StreamedCall): OpenStream;
  /**
   * Returns the name of the text in an event that has nothing else to read; undefined for other events. Events that differ in this
   * text alone need not be parsed.
   */
  repeatedText(event: Fields): string | undefined;
  /** Puts a stream together as a plain response. Undefined if there are no streams. */
  readonly assembly: AssemblyFormat | undefined;
}

export interface ErrorFormat {
  bodyOf(shown: ShownError, traceId: string): object;
  headersOf(shown: ShownError): Readonly<Record<string, string>>;
  /** Returns a special answer to a call that a limit denied, for clients that misread the usual one; undefined for all other clients. */
  limitReplyOf(
    headers: Fields,
    shown: ShownError,
  ): { readonly status: number; readonly body: object } | undefined;
  /** Returns response headers with which clients show how much of a limit is used. */
  limitHeadersOf(headers: Fields, use: LimitUse): Readonly<Record<string, string>>;
}
