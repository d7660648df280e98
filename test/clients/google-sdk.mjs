/** Makes a call with Google's SDK, and prints what it returned as JSON. The base URL and the key are in its environment variables. */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [directory, mode, model] = process.argv.slice(2);
const { resolve: pathOf } = createRequire(pathToFileURL(`${directory}/index.js`));
const { ApiError, GoogleGenAI } = await import(pathOf('@google/genai'));
const { models } = new GoogleGenAI({});
const contents = 'Say hello to the wörld';
const parameters = { type: 'OBJECT', properties: { q: { type: 'STRING' } } };
const config = { maxOutputTokens: 50, systemInstruction: 'Be brief.' };

/**
 * @param {AsyncIterable<any>} all
 * @param {(one: any) => unknown} select
 */
async function listOf(all, select) {
  const found = [];
  for await (const one of all) {
    found.push(select(one));
  }
  return found;
}

async function call() {
  switch (mode) {
    case 'stream':
      return listOf(await models.generateContentStream({ model, contents }), ({ text }) => text);
    case 'embeddings': {
      const { embeddings } = await models.embedContent({ model, contents: ['one two', 'three'] });
      return embeddings.map((/** @type {any} */ { values }) => values);
    }
    case 'count':
      return (await models.countTokens({ model, contents })).totalTokens;
    case 'models':
      return listOf(await models.list(), ({ name }) => name);
    case 'tools': {
      const tools = [{ functionDeclarations: [{ name: 'lookup', parameters }] }];
      const { functionCalls } = await models.generateContent({
        model,
        contents,
        config: { ...config, tools },
      });
      return functionCalls.map((/** @type {any} */ { args }) => args);
    }
    default:
      return (await models.generateContent({ model, contents, config })).text;
  }
}

try {
  process.stdout.write(JSON.stringify({ value: await call() }));
} catch (error) {
  if (!(error instanceof ApiError)) {
    throw error;
  }
  const { status, message } = /** @type {any} */ (error);
  process.stdout.write(JSON.stringify({ status, message, details: JSON.parse(message) }));
}
