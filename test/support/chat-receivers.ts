/** Receivers in the shape of Slack and Teams: they check the form and the limits of messages, and answer as those do. */
import type { ServerResponse } from 'node:http';
import { type Received, type Receiver, startReceiver } from './webhook-receiver.ts';

type Problems = string[];

export function startSlack(
  answer?: (response: ServerResponse, received: Received) => boolean,
): Promise<Receiver> {
  return startReceiver((response, received) => {
    const problems = checkSlackMessage(received.event);
    if (answer?.(response, received) === true) {
      return;
    }
    response.writeHead(problems.length === 0 ? 200 : 400, { 'content-type': 'text/html' });
    response.end(problems.length === 0 ? 'ok' : `invalid_blocks: ${problems.join(' ')}`);
  });
}

export function startTeams(): Promise<Receiver> {
  return startReceiver((response, received) => {
    const problems = checkTeamsMessage(received.event);
    response.writeHead(problems.length === 0 ? 202 : 400).end(problems.join(' '));
  });
}

interface Text {
  readonly type?: string;
  readonly text?: string;
}

/** The rules of incoming webhooks and of Block Kit that our messages could break. */
export function checkSlackMessage(message: unknown): Problems {
  const { text, blocks } = message as {
    readonly text?: string;
    readonly blocks?: readonly {
      readonly type: string;
      readonly text?: Text;
      readonly fields?: readonly Text[];
      readonly elements?: readonly Text[];
    }[];
  };
  const problems: Problems = [];
  if (typeof text !== 'string' || text === '' || text.length > 3_000) {
    problems.push('text is required.');
  }
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > 50) {
    return [...problems, 'blocks must have 1 to 50 items.'];
  }
  const check = (one: Text, charsMax: number) => {
    if (one.type !== 'mrkdwn' || one.text === undefined || one.text === '' || one.text.length > charsMax) {
      problems.push(`a text has ${one.text?.length} characters.`);
    }
    // Only links in angle brackets; every other one is escaped.
    const rest = (one.text ?? '').replaceAll(/<https?:\/\/[^<>|]+\|[^<>|]+>/g, '');
    if (/[<>]/.test(rest) || /&(?!amp;|lt;|gt;)/.test(rest)) {
      problems.push('a text is not escaped.');
    }
  };
  for (const block of blocks) {
    if (block.type === 'section') {
      if (block.text === undefined && block.fields === undefined) {
        problems.push('a section needs text or fields.');
      }
      if (block.text !== undefined) {
        check(block.text, 3_000);
      }
      if (block.fields !== undefined && (block.fields.length === 0 || block.fields.length > 10)) {
        problems.push('a section has 1 to 10 fields.');
      }
      for (const field of block.fields ?? []) {
        check(field, 2_000);
      }
    } else if (block.type === 'context') {
      for (const element of block.elements ?? []) {
        check(element, 3_000);
      }
    } else {
      problems.push(`unexpected block ${block.type}.`);
    }
  }
  return problems;
}

/** The envelope that a Teams workflow reads, and the parts of Adaptive Cards 1.4 that our messages use. */
export function checkTeamsMessage(message: unknown): Problems {
  const { type, attachments } = message as {
    readonly type?: string;
    // biome-ignore lint/suspicious/noExplicitAny: this is what is checked.
    readonly attachments?: readonly any[];
  };
  const problems: Problems = [];
  if (Buffer.byteLength(JSON.stringify(message)) > 28_000) {
    problems.push('the message is larger than 28 KB.');
  }
  if (type !== 'message' || attachments?.length !== 1) {
    return [...problems, 'not an envelope with one attachment.'];
  }
  const { contentType, content } = attachments[0];
  if (contentType !== 'application/vnd.microsoft.card.adaptive' || content.type !== 'AdaptiveCard') {
    problems.push('not an Adaptive Card.');
  }
  if (content.version !== '1.4' || typeof content.fallbackText !== 'string') {
    problems.push('unexpected version.');
  }
  for (const block of content.body) {
    const runs = block.type === 'RichTextBlock' ? block.inlines : [];
    if (
      runs.length === 0 ||
      runs.some((run: { type: string; text: string }) => run.type !== 'TextRun' || run.text === '')
    ) {
      problems.push('a block without text.');
    }
  }
  for (const action of content.actions) {
    if (action.type !== 'Action.OpenUrl' || !URL.canParse(action.url)) {
      problems.push('an action without a URL.');
    }
  }
  return problems;
}
