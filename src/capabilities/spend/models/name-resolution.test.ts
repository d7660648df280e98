import { describe, expect, test } from 'vitest';
import { createNameResolution } from './name-resolution.ts';

const noModels = () => [];
const noNames = { aliases: null, patterns: null, catalog_aliases: null, catalog_patterns: null };

test('caches the models of a name, and keeps at most 10,000 names', () => {
  const names = createNameResolution([{ ...noNames, model: 'large', aliases: ['big'] }], noModels);
  const first = names.otherModels('big');
  expect(first).toEqual(['large']);
  expect(names.otherModels('big')).toBe(first);
  for (let i = 0; i < 10_000; i += 1) {
    names.otherModels(`unknown-${i}`);
  }
  const again = names.otherModels('big');
  expect(again).toEqual(first);
  expect(again).not.toBe(first);
});

test('lists each model once, in the order of the steps', () => {
  const names = createNameResolution(
    [
      { ...noNames, model: 'by-alias', aliases: ['openai/m-latest'] },
      { ...noNames, model: 'by-pattern', patterns: ['openai/*', 'm-*'] },
    ],
    noModels,
  );
  expect(names.otherModels('openai/m-latest')).toEqual([
    'by-alias',
    'by-pattern',
    'm-latest',
    'openai/m',
    'm',
  ]);
});

test('prefers names of the operator to those of the catalog, also if the operator has set none', () => {
  const names = createNameResolution(
    [
      { ...noNames, model: 'a', aliases: ['x'] },
      { ...noNames, model: 'b', catalog_aliases: ['x', 'y'] },
      { ...noNames, model: 'c', aliases: [], catalog_aliases: ['z'], catalog_patterns: ['c:*'] },
    ],
    noModels,
  );
  expect(names.otherModels('x')).toEqual(['a']);
  expect(names.otherModels('y')).toEqual(['b']);
  expect(names.otherModels('z')).toEqual([]);
  expect(names.otherModels('c:1')).toEqual(['c']);
});

describe('prices of hosts', () => {
  const hosted = [
    'gpt-9',
    'azure/gpt-9',
    'azure/eu/gpt-9',
    'azure/us/gpt-9',
    'groq/openai/oss-120b',
    'together_ai/openai/oss-120b',
    'us.anthropic.claude-next-1',
    'anthropic.claude-next-1',
    'claude-next-1',
    'claude-9-1',
    'bedrock/us-east-1/anthropic.claude-next-1',
    'fireworks_ai/accounts/fireworks/models/seek-r1',
    'seek-r1',
  ];
  const names = createNameResolution([], () => hosted);

  test.each([
    ['in another region', 'azure/ca/gpt-9', ['azure/gpt-9', 'azure/eu/gpt-9', 'azure/us/gpt-9']],
    ['of a later release', 'azure/eu/gpt-9-2026-08-06', ['azure/eu/gpt-9']],
    ['in a region of an unknown host', 'eu/gpt-9', ['azure/eu/gpt-9']],
    ['at another host', 'groq/gpt-9', ['gpt-9', 'azure/gpt-9', 'azure/eu/gpt-9', 'azure/us/gpt-9']],
    ['that only hosts have', 'openai/oss-120b', ['groq/openai/oss-120b', 'together_ai/openai/oss-120b']],
    ['without the vendor', 'oss-120b', ['groq/openai/oss-120b', 'together_ai/openai/oss-120b']],
    [
      'in another geography',
      'jp.anthropic.claude-next-1-v1:0',
      ['us.anthropic.claude-next-1', 'anthropic.claude-next-1', 'bedrock/us-east-1/anthropic.claude-next-1'],
    ],
    ['by its short name', 'fireworks_ai/seek-r1', ['fireworks_ai/accounts/fireworks/models/seek-r1']],
  ])('the price at a host of a name %s: %s', (_, name, models) => {
    const found = names.otherModels(name).find((one) => hosted.includes([one].flat()[0] ?? ''));
    expect([found].flat()).toEqual(models);
  });

  test('do not apply to the name of the vendor, however it is prefixed or dated', () => {
    for (const name of ['openai/gpt-9', 'openrouter/openai/gpt-9', 'models/gpt-9', 'gpt-9-2026-08-06']) {
      expect(names.otherModels(name).find((one) => hosted.includes(one as string))).toBe('gpt-9');
    }
    expect(names.otherModels('anthropic/claude-9.1')).toContain('claude-9-1');
  });

  test.each([
    ['azure_openai', undefined, 'gpt-9', 'azure/gpt-9'],
    ['azure.ai.openai', 'eu', 'gpt-9-2026-08-06', 'azure/eu/gpt-9'],
    ['groq', undefined, 'openai/oss-120b', 'groq/openai/oss-120b'],
    ['aws', 'us-east-1', 'anthropic.claude-next-1', 'bedrock/us-east-1/anthropic.claude-next-1'],
    ['fireworks_ai', undefined, 'seek-r1', 'fireworks_ai/accounts/fireworks/models/seek-r1'],
  ])('the price at a host of %s in region %s for %s: %s', (provider, region, name, model) => {
    const found = names.modelsAt(name, { provider, ...(region !== undefined && { region }) });
    expect(found?.flat().find((one) => hosted.includes(one))).toBe(model);
  });

  test('prices of hosts are cached by host, region and name', () => {
    const found = names.modelsAt('gpt-9', { provider: 'azure' });
    expect(names.modelsAt('gpt-9', { provider: 'azure_openai' })).toBe(found);
    expect(names.modelsAt('gpt-9', { provider: 'azure', region: 'eu' })).not.toBe(found);
    expect(names.modelsAt('gpt-9', { provider: 'openai' })).toBeUndefined();
  });
});
