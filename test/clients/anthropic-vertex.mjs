/** Makes a call with Anthropic's SDK for Vertex AI, and prints what it returned as JSON. The base URL is in its environment variable. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [directory, mode, model] = process.argv.slice(2);
const { resolve: pathOf } = createRequire(pathToFileURL(`${directory}/index.js`));
const { AnthropicVertex } = await import(pathOf('@anthropic-ai/vertex-sdk'));
const headers = new Headers({ authorization: `Bearer ${process.env.PURSER_KEY}` });
const { messages } = new AnthropicVertex({
  projectId: 'any-project',
  region: 'global',
  authClient: { projectId: 'any-project', getRequestHeaders: async () => headers },
});
const request = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Say hello to the wörld' }] };

async function call() {
  switch (mode) {
    case 'stream':
      return (await messages.stream(request).finalMessage()).content[0].text;
    case 'count': {
      const { max_tokens: _, ...counted } = request;
      return (await messages.countTokens(counted)).input_tokens;
    }
    default:
      return (await messages.create(request)).content[0].text;
  }
}

try {
  process.stdout.write(JSON.stringify({ value: await call() }));
} catch (error) {
  const { status, message } = /** @type {any} */ (error);
  process.stdout.write(JSON.stringify({ status, message }));
}
