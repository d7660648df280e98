/** A program that makes one call through a wrapped SDK and reports it. Its parent kills it then. */
import { writeSync } from 'node:fs';
import OpenAI from 'openai';

const { CLIENT, PROVIDER_URL, PURSER_URL, PURSER_KEY, PURSER_SPOOL, ROUND } = process.env;
const { createPurser } = await import(String(CLIENT));
const purser = createPurser({
  url: PURSER_URL,
  key: PURSER_KEY,
  spool: PURSER_SPOOL,
  timeoutMs: 600_000,
  requestTimeoutMs: 600_000,
});
const openai = purser.wrap(new OpenAI({ baseURL: `${PROVIDER_URL}/v1`, apiKey: 'sk-own' }));
await purser.withRun({ tags: { round: ROUND } }, () =>
  openai.chat.completions.create({ model: 'gpt-test', messages: [{ role: 'user', content: 'Hello' }] }),
);
writeSync(1, 'answered\n');
setInterval(() => undefined, 1_000);
