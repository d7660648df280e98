/** Makes a call with the SDK of AWS, and prints what it returned as JSON. The endpoint and the credentials are in its environment variables. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [directory, mode, modelId] = process.argv.slice(2);
const { resolve: pathOf } = createRequire(pathToFileURL(`${directory}/index.js`));
const sdk = await import(pathOf('@aws-sdk/client-bedrock-runtime'));
const { NodeHttpHandler } = await import(pathOf('@smithy/node-http-handler'));
// By default this client speaks HTTP/2, which needs TLS.
const client = new sdk.BedrockRuntimeClient({ maxAttempts: 1, requestHandler: new NodeHttpHandler() });
const input = {
  modelId,
  messages: [{ role: 'user', content: [{ text: 'Say hello to the wörld' }] }],
  inferenceConfig: { maxTokens: 50 },
};
const inputSchema = { json: { type: 'object', properties: { q: { type: 'string' } } } };
const body = JSON.stringify({
  anthropic_version: 'bedrock-2023-05-31',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'Say hello to the wörld' }],
});

/**
 * @param {AsyncIterable<any>} all
 * @param {(one: any) => unknown} select
 */
async function listOf(all, select) {
  const found = [];
  for await (const one of all) {
    found.push(select(one));
  }
  return found.filter((one) => one !== undefined);
}

/** @param {Uint8Array} bytes */
const parsed = (bytes) => JSON.parse(Buffer.from(bytes).toString());

async function call() {
  switch (mode) {
    case 'stream': {
      const { stream } = await client.send(new sdk.ConverseStreamCommand(input));
      return listOf(stream, ({ contentBlockDelta }) => contentBlockDelta?.delta.text);
    }
    case 'tools': {
      const toolConfig = { tools: [{ toolSpec: { name: 'lookup', inputSchema } }] };
      const { output } = await client.send(new sdk.ConverseCommand({ ...input, toolConfig }));
      return output.message.content.map((/** @type {any} */ { toolUse }) => toolUse.input);
    }
    case 'invoke': {
      const answer = await client.send(new sdk.InvokeModelCommand({ modelId, body }));
      return parsed(answer.body).content[0].text;
    }
    case 'invoke-stream': {
      const command = new sdk.InvokeModelWithResponseStreamCommand({ modelId, body });
      const answer = await client.send(command);
      return listOf(answer.body, ({ chunk }) => parsed(chunk.bytes).delta?.text);
    }
    case 'count': {
      const { messages } = input;
      const command = new sdk.CountTokensCommand({ modelId, input: { converse: { messages } } });
      return (await client.send(command)).inputTokens;
    }
    default: {
      const { output } = await client.send(new sdk.ConverseCommand(input));
      return output.message.content[0].text;
    }
  }
}

try {
  process.stdout.write(JSON.stringify({ value: await call() }));
} catch (error) {
  const { name, message, $metadata } = /** @type {any} */ (error);
  process.stdout.write(JSON.stringify({ name, message, status: $metadata?.httpStatusCode }));
}
