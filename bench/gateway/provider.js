// @ts-check
/**
 * A model provider for the bench: chat completions of OpenAI and messages of Anthropic, plain and as streams. It keeps a bill of its
 * own. Plain JavaScript on `node:http`, so that it costs as little as possible beside the server under test.
 *
 * `GET /control` returns the bill. `PUT /control` sets the behaviour and resets the bill: `tokens` of an answer at most, the pause between
 * two of them (`everyMs`), and whether each token is the time at which it was sent (`timed`).
 */
import { createServer } from 'node:http';

/** US dollars per token, as the providers publish them. */
const rates = {
  'gpt-4o': { input: 2.5e-6, output: 10e-6 },
  'claude-sonnet-4-5': { input: 3e-6, output: 15e-6 },
};
/**
 * Input tokens as OpenAI counts them: some around each message, and those of the text. The texts of the bench have one token per five
 * characters in the encoding o200k.
 */
const tokensOfRequest = 3;
const tokensOfMessage = 4;
const charactersPerToken = 5;

/** @typedef {{ tokens: number, everyMs: number, timed: boolean }} Behaviour */
/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {{ model: string, input: number, output: number, includeUsage: boolean }} Call */

/** @type {Behaviour} */
let behaviour = { tokens: 20, everyMs: 0, timed: false };
let bill = newBill();

function newBill() {
  return { requests: 0, completed: 0, inputTokens: 0, outputTokens: 0, usd: 0 };
}

/** Bills tokens when they are produced: a provider bills a stream that the client has left, too. @param {Call} call @param {number} input @param {number} output */
function charge({ model }, input, output) {
  const rate = rates[/** @type {keyof typeof rates} */ (model)];
  bill.inputTokens += input;
  bill.outputTokens += output;
  bill.usd += input * rate.input + output * rate.output;
}

/** @param {Call} call */
function chatAnswer(call) {
  const message = { role: 'assistant', content: 'token '.repeat(call.output) };
  const usage = chatUsage(call);
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: call.model, choices, usage };
}

/** @param {Call} call */
function chatUsage({ input, output }) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** @param {Call} call */
function messageAnswer(call) {
  const content = [{ type: 'text', text: 'token '.repeat(call.output) }];
  const usage = { input_tokens: call.input, output_tokens: call.output };
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: call.model };
  return { ...about, content, stop_reason: 'end_turn', stop_sequence: null, usage };
}

/** @param {Call} call */
function chatEvents(call) {
  const about = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: call.model };
  const rest = call.includeUsage ? { usage: null } : {};
  /** @param {object} delta @param {string | null} finish */
  const chunk = (delta, finish) =>
    `data: ${JSON.stringify({ ...about, choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
  const [before, after] = chunk({ content: '#' }, null).split('#');
  const usage = call.includeUsage
    ? `data: ${JSON.stringify({ ...about, choices: [], usage: chatUsage(call) })}\n\n`
    : '';
  return {
    start: chunk({ role: 'assistant', content: '' }, null),
    token: (/** @type {string} */ text) => before + text + after,
    end: `${chunk({}, 'stop')}${usage}data: [DONE]\n\n`,
  };
}

/** @param {Call} call */
function messageEvents(call) {
  /** @param {{ type: string }} data */
  const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const message = { ...messageAnswer(call), content: [], stop_reason: null };
  message.usage.output_tokens = 1;
  const delta = { type: 'text_delta', text: '#' };
  const [before, after] = event(
    /** @type {{ type: string }} */ ({ type: 'content_block_delta', index: 0, delta }),
  ).split('#');
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const last = { stop_reason: 'end_turn', stop_sequence: null };
  const usage = { output_tokens: call.output };
  const ends = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: last, usage },
  ];
  return {
    start: [{ type: 'message_start', message }, block].map(event).join(''),
    token: (/** @type {string} */ text) => before + text + after,
    end: [...ends, { type: 'message_stop' }].map(event).join(''),
  };
}

/** @param {Response} response @param {Call} call @param {{ start: string, token(text: string): string, end: string }} events */
function stream(response, call, { start, token, end }) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  charge(call, call.input, 0);
  let left = call.output;
  const next = () => {
    left -= 1;
    charge(call, 0, 1);
    response.write(token(behaviour.timed ? `${process.hrtime.bigint()} ` : 'token '));
    if (left > 0) {
      return;
    }
    clearInterval(timer);
    bill.completed += 1;
    response.end(end);
  };
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  response.write(start);
  if (behaviour.everyMs > 0) {
    timer = setInterval(next, behaviour.everyMs);
    response.on('close', () => clearInterval(timer));
    return;
  }
  while (left > 0) {
    next();
  }
}

/** @param {{ content: string | { text: string }[] }[]} messages */
function inputTokens(messages) {
  return messages.reduce((total, { content }) => {
    const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
    return total + tokensOfMessage + Math.ceil(text.length / charactersPerToken);
  }, tokensOfRequest);
}

/** @param {string | undefined} path @param {Buffer} body @param {Response} response */
function answer(path, body, response) {
  const asked = JSON.parse(body.toString());
  const most = asked.max_tokens ?? asked.max_completion_tokens ?? behaviour.tokens;
  const call = {
    model: asked.model,
    input: inputTokens(asked.messages),
    output: Math.min(behaviour.tokens, most),
    includeUsage: asked.stream_options?.include_usage === true,
  };
  bill.requests += 1;
  const isChat = path === '/v1/chat/completions';
  if (asked.stream === true) {
    stream(response, call, isChat ? chatEvents(call) : messageEvents(call));
    return;
  }
  charge(call, call.input, call.output);
  bill.completed += 1;
  const bytes = Buffer.from(JSON.stringify(isChat ? chatAnswer(call) : messageAnswer(call)));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const path = request.url?.split('?')[0];
    if (path === '/v1/chat/completions' || path === '/v1/messages') {
      answer(path, body, response);
      return;
    }
    if (path !== '/control') {
      response.writeHead(404).end();
      return;
    }
    if (request.method === 'PUT') {
      behaviour = { ...behaviour, ...JSON.parse(body.toString()) };
      bill = newBill();
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(bill));
  });
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.once('disconnect', () => process.exit());
