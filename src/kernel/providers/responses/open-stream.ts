/**
 * A streamed response of OpenAI's Responses API. Its last event contains the whole response, so the output is collected if the
 * gateway may have to write that event.
 */
import type { CallUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import type { OpenStream, StreamedCall } from '../open-stream.ts';
import { namedEvent } from '../write-event.ts';

type OutputItem = Record<string, unknown>;

const ends = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

export function createOpenResponse({ mayTruncate }: Pick<StreamedCall, 'mayTruncate'>): OpenStream {
  let sequence = -1;
  let isOutputEnded = false;
  let response: Fields = {};
  /** Items by output index. */
  const items = new Map<number, OutputItem>();
  const openItems = new Set<number>();
  /** Keys of parts whose last event has not arrived, as `output index/content index`. */
  const openParts = new Set<string>();
  const openTexts = new Set<string>();

  const event = (type: string, fields: object) => {
    sequence += 1;
    return namedEvent(type, { sequence_number: sequence, ...fields });
  };

  function collect(given: Fields): void {
    const index = Number(given.output_index);
    const item = items.get(index);
    const part = `${index}/${given.content_index}`;
    switch (given.type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        response = fieldsOf(given.response);
        break;
      case 'response.output_item.added':
        items.set(index, { ...fieldsOf(given.item) });
        openItems.add(index);
        break;
      case 'response.output_item.done':
        items.set(index, { ...fieldsOf(given.item) });
        openItems.delete(index);
        break;
      case 'response.content_part.added':
        partsOf(item)[Number(given.content_index)] = { ...fieldsOf(given.part) };
        openParts.add(part);
        openTexts.add(part);
        break;
      case 'response.output_text.done':
        openTexts.delete(part);
        break;
      case 'response.content_part.done':
        partsOf(item)[Number(given.content_index)] = { ...fieldsOf(given.part) };
        openParts.delete(part);
        break;
      case 'response.output_text.delta':
        append(partsOf(item)[Number(given.content_index)], 'text', given.delta);
        break;
      case 'response.refusal.delta':
        append(partsOf(item)[Number(given.content_index)], 'refusal', given.delta);
        break;
      case 'response.function_call_arguments.delta':
        append(item, 'arguments', given.delta);
        break;
      case 'response.custom_tool_call_input.delta':
        append(item, 'input', given.delta);
        break;
    }
  }

  /** Ends an open item. A tool call gets no event, because clients would run it with incomplete arguments. */
  function itemEnd(index: number): string {
    const item = items.get(index) as OutputItem;
    item.status = 'incomplete';
    if (item.type !== 'message') {
      return '';
    }
    const at = { item_id: item.id, output_index: index };
    let partEnds = '';
    for (const [content_index, part] of partsOf(item).entries()) {
      const key = `${index}/${content_index}`;
      if (openTexts.has(key) && part.type === 'output_text') {
        partEnds += event('response.output_text.done', {
          ...at,
          content_index,
          text: part.text,
          logprobs: [],
        });
      }
      if (openParts.has(key)) {
        partEnds += event('response.content_part.done', { ...at, content_index, part });
      }
    }
    return partEnds + event('response.output_item.done', { output_index: index, item });
  }

  return {
    read(given) {
      sequence = typeof given.sequence_number === 'number' ? given.sequence_number : sequence;
      isOutputEnded ||= typeof given.type === 'string' && ends.has(given.type);
      if (mayTruncate) {
        collect(given);
      }
    },
    get isOutputEnded() {
      return isOutputEnded;
    },
    rest: () => '',
    truncated(usage) {
      const itemEnds = [...openItems].map(itemEnd).join('');
      const output = [...items.keys()].sort((a, b) => a - b).map((index) => items.get(index));
      const incomplete = {
        ...response,
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output,
        usage: usageFields(usage),
      };
      return itemEnds + event('response.incomplete', { response: incomplete });
    },
    // The reference documents the flat fields, but OpenAI sends the object, and SDKs raise an exception only for the object.
    failed: (message, code) => {
      const error = { code, message, param: null };
      return event('error', { ...error, error: { type: 'api_error', ...error } });
    },
  };
}

/** Returns the content parts of a message as a list that can be appended to. */
function partsOf(item: OutputItem | undefined): OutputItem[] {
  if (item === undefined) {
    return [];
  }
  if (!Array.isArray(item.content)) {
    item.content = [];
  }
  return item.content as OutputItem[];
}

function append(target: OutputItem | undefined, name: string, delta: unknown): void {
  if (target !== undefined && typeof delta === 'string') {
    target[name] = `${typeof target[name] === 'string' ? target[name] : ''}${delta}`;
  }
}

function usageFields({ inputTokens, outputTokens, cachedInputTokens }: CallUsage): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
