/** Reads the model names in the types of the official SDKs: each must have a price. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { isBilledByUnitsOnly } from '../../../kernel/rate-modifiers.ts';
import { createPrices } from './index.ts';

const world = useWorld();

const modules = new URL('../../../../node_modules/', import.meta.url);

/** Returns the string literals of the type aliases with these names. */
function literalsOf(file: string, types: RegExp): string[] {
  const source = readFileSync(new URL(file, modules), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const aliases = [...source.matchAll(/export type (\w+) =([^;]*);/g)].filter(([, name]) =>
    types.test(name as string),
  );
  return aliases.flatMap(([, , body]) =>
    [...(body as string).matchAll(/'([^']+)'/g)].map(([, name]) => name as string),
  );
}

const openai = ['shared', 'audio/speech', 'audio/audio', 'embeddings', 'images', 'moderations'].flatMap(
  (file) => literalsOf(`openai/resources/${file}.d.ts`, /^(AllModels|ChatModel|\w+Model)$/),
);
const anthropic = literalsOf('@anthropic-ai/sdk/resources/messages/messages.d.ts', /^Model$/);

/** Charged by units alone. */
const byUnit = ['tts-1', 'tts-1-hd', 'whisper-1'];
/** In the types of the SDKs, but in no public price list as of the catalog. */
const withoutListPrice = ['claude-fable-5-2', 'claude-mythos-5-2', 'gpt-5.1-mini'];

test('every model name in the types of the OpenAI and Anthropic SDKs is resolved to a price', async () => {
  expect(openai.length).toBeGreaterThan(100);
  expect(anthropic.length).toBeGreaterThan(15);
  const prices = createPrices(world.db);
  const atMs = world.clock.now().getTime();
  const unresolved: string[] = [];
  for (const name of new Set([...openai, ...anthropic])) {
    if ((await prices.find('org_any', name, atMs)) === undefined) {
      unresolved.push(name);
    }
  }
  expect(unresolved.sort()).toEqual(withoutListPrice.sort());
});

test('models that are charged by the second or character have the price of the unit', async () => {
  const prices = createPrices(world.db);
  for (const name of byUnit) {
    const price = await prices.find('org_any', name, world.clock.now().getTime());
    expect(price && isBilledByUnitsOnly(price), name).toBe(true);
  }
});
