/** Assembles a streamed chat completion. */
import { type Fields, fieldsOf } from '../fields.ts';
import {
  type AssembledStream,
  type AssemblyFormat,
  openAiErrorStatus,
  partsMax,
  type StreamAssembly,
} from '../stream-assembly.ts';
import { doneMarker } from '../stream-usage.ts';

interface Choice {
  readonly message: Record<string, unknown>;
  /** Undefined if no chunk has the member. */
  annotations: unknown[] | undefined;
  readonly toolCalls: Map<number, Record<string, unknown>>;
  /** Undefined if no chunk has the member. */
  logprobs: Record<string, unknown> | null | undefined;
  finishReason: unknown;
}

/** Members of chunks that the response has too. `obfuscation` only hides the lengths of chunks. */
const headMembers = new Set(['id', 'created', 'model', 'system_fingerprint', 'service_tier', 'usage']);
const chunkOnly = new Set(['object', 'choices', 'obfuscation', 'error']);
const choiceMembers = new Set(['index', 'delta', 'finish_reason', 'logprobs']);
const textMembers = new Set(['content', 'refusal']);

export const chatAssembly: AssemblyFormat = {
  // Streamed audio has another encoding, and a plain request must not have options of a stream.
  mayAssemble: ({ audio, modalities, stream_options: options }) =>
    audio == null && options === undefined && !(Array.isArray(modalities) && modalities.includes('audio')),
  start: () => new ChatAssembly(),
};

class ChatAssembly implements StreamAssembly {
  readonly #head: Record<string, unknown> = {};
  readonly #choices = new Map<number, Choice>();
  #parts = 0;
  #error: Fields | undefined;
  #unknown: string | undefined;

  read(chunk: Fields): void {
    if (chunk === doneMarker) {
      return;
    }
    if (chunk.error != null) {
      this.#error ??= fieldsOf(chunk.error);
    }
    for (const [name, value] of Object.entries(chunk)) {
      if (headMembers.has(name)) {
        this.#head[name] = value ?? this.#head[name] ?? null;
      } else if (value != null && !chunkOnly.has(name)) {
        this.#unknown ??= name;
      }
    }
    for (const choice of this.#listIn('choices', chunk.choices)) {
      if (this.#unknown === undefined) {
        this.#readChoice(fieldsOf(choice));
      }
    }
  }

  /** Returns the list. Any other value has no known place. */
  #listIn(place: string, value: unknown): readonly unknown[] {
    if (value != null && !Array.isArray(value)) {
      this.#unknown ??= place;
    }
    return Array.isArray(value) ? value : [];
  }

  #countPart(place: string): void {
    this.#parts += 1;
    if (this.#parts > partsMax) {
      this.#unknown ??= place;
    }
  }

  #readChoice(given: Fields): void {
    const index = Number(given.index ?? 0);
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      this.#countPart('choices');
      choice = {
        message: { role: 'assistant', content: null },
        annotations: undefined,
        toolCalls: new Map(),
        logprobs: undefined,
        finishReason: null,
      };
      this.#choices.set(index, choice);
    }
    choice.finishReason = given.finish_reason ?? choice.finishReason;
    if (given.logprobs !== undefined) {
      choice.logprobs = withLogprobs(choice.logprobs, given.logprobs);
    }
    this.#noteUnknown('choices', given, choiceMembers);
    for (const [name, value] of Object.entries(fieldsOf(given.delta))) {
      this.#readDelta(choice, name, value);
    }
  }

  #readDelta(choice: Choice, name: string, value: unknown): void {
    const { message, toolCalls } = choice;
    if (textMembers.has(name) && (value == null || typeof value === 'string')) {
      message[name] = value == null ? (message[name] ?? null) : `${message[name] ?? ''}${value}`;
    } else if (name === 'role') {
      message.role = value ?? message.role;
    } else if (name === 'annotations') {
      choice.annotations ??= [];
      append(choice.annotations, this.#listIn('delta.annotations', value));
    } else if (name === 'function_call') {
      message.function_call = this.#withCall(message.function_call, value);
    } else if (name === 'tool_calls') {
      for (const call of this.#listIn('delta.tool_calls', value)) {
        if (this.#unknown === undefined) {
          this.#readToolCall(toolCalls, fieldsOf(call));
        }
      }
    } else if (value != null) {
      this.#unknown ??= `delta.${name}`;
    }
  }

  #readToolCall(calls: Map<number, Record<string, unknown>>, given: Fields): void {
    const index = Number(given.index ?? 0);
    let call = calls.get(index);
    if (call === undefined) {
      this.#countPart('delta.tool_calls');
      call = {};
      calls.set(index, call);
    }
    this.#noteUnknown('tool_calls', given, toolCallMembers);
    // Some hosts give every call the same index: their arguments would become one text.
    this.#noteChanged('tool_calls.id', call.id, given.id);
    for (const name of ['id', 'type'] as const) {
      call[name] = given[name] ?? call[name];
    }
    for (const name of ['function', 'custom'] as const) {
      if (given[name] != null) {
        call.type ??= name;
        call[name] = this.#withCall(call[name], given[name]);
      }
    }
  }

  /** Adds to the arguments or the input of a call. Its name arrives as a whole. */
  #withCall(before: unknown, given: unknown): object {
    const { name, arguments: text, input } = fieldsOf(given);
    this.#noteUnknown('call', fieldsOf(given), callMembers);
    const call = { ...fieldsOf(before) } as Record<string, unknown>;
    if (name != null) {
      this.#noteChanged('call.name', call.name, name);
      call.name = name;
    }
    for (const [member, more] of [
      ['arguments', text],
      ['input', input],
    ] as const) {
      if (typeof more === 'string') {
        call[member] = `${call[member] ?? ''}${more}`;
      }
    }
    return call;
  }

  #noteChanged(place: string, before: unknown, now: unknown): void {
    if (before != null && now != null && before !== now) {
      this.#unknown ??= place;
    }
  }

  #noteUnknown(place: string, given: Fields, known: ReadonlySet<string>): void {
    for (const [name, value] of Object.entries(given)) {
      if (value != null && !known.has(name)) {
        this.#unknown ??= `${place}.${name}`;
      }
    }
  }

  result(): AssembledStream {
    if (this.#error !== undefined) {
      return { kind: 'error', status: openAiErrorStatus(this.#error), body: { error: this.#error } };
    }
    if (this.#unknown !== undefined) {
      return { kind: 'unknown', part: this.#unknown };
    }
    const choices = [...this.#choices].sort(([a], [b]) => a - b);
    if (choices.length === 0 || choices.some(([, { finishReason }]) => finishReason === null)) {
      return { kind: 'unended' };
    }
    return {
      kind: 'response',
      body: { ...this.#head, object: 'chat.completion', choices: choices.map(choiceOf) },
    };
  }
}

const toolCallMembers = new Set(['index', 'id', 'type', 'function', 'custom']);
const callMembers = new Set(['name', 'arguments', 'input']);

function choiceOf([index, choice]: readonly [number, Choice]): object {
  const { message, annotations, toolCalls, logprobs, finishReason } = choice;
  const calls = [...toolCalls].sort(([a], [b]) => a - b).map(([, call]) => call);
  return {
    index,
    message: {
      ...message,
      // Streams of calls of tools may start with an empty text.
      ...((calls.length > 0 || message.function_call !== undefined) && { content: message.content || null }),
      // OpenAI sends an empty list beside `refusal`, but no delta for it.
      ...((annotations !== undefined || message.refusal !== undefined) && { annotations: annotations ?? [] }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    ...(logprobs !== undefined && { logprobs }),
    finish_reason: finishReason,
  };
}

/** Adds to the lists in place: each token has an event of its own, so copies would take the square of their number. */
function withLogprobs(before: Choice['logprobs'], given: unknown): Choice['logprobs'] {
  if (given == null) {
    return before ?? null;
  }
  const merged = before ?? {};
  for (const [name, list] of Object.entries(fieldsOf(given))) {
    if (!Array.isArray(list)) {
      merged[name] ??= null;
    } else if (Array.isArray(merged[name])) {
      append(merged[name], list);
    } else {
      merged[name] = [...list];
    }
  }
  return merged;
}

function append(list: unknown[], more: readonly unknown[]): void {
  for (const one of more) {
    list.push(one);
  }
}
