import { expect, test } from 'vitest';
import { callFormats } from '../../../kernel/providers/formats.ts';
import { type LoadedConnection, orderCandidates, parseModels } from './candidates.ts';
import type { ConnectionKind } from './kinds/index.ts';

interface Draft {
  readonly kind?: ConnectionKind;
  readonly models?: string[];
  readonly priority?: number;
  readonly weight?: number;
  readonly region?: string;
  readonly deploymentModels?: Readonly<Record<string, string>>;
}

function connection(
  name: string,
  { kind = 'openai', models, priority = 0, weight = 1, region, deploymentModels = {} }: Draft = {},
): LoadedConnection {
  return {
    id: name,
    name,
    kind,
    baseUrl: '',
    calledAt: region === undefined ? {} : { provider: 'aws', region },
    priority,
    weight,
    headers: {},
    deploymentModels,
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    ...parseModels(models ?? null),
    region: undefined,
    credential: () => ({ type: 'key', key: '' }),
    previousCredential: () => undefined,
  };
}

const names = (
  all: LoadedConnection[],
  model = 'gpt-5',
  { wanted = { format: callFormats.chat }, open = [], random = () => 0.5 } = {} as {
    wanted?: Parameters<typeof orderCandidates>[1];
    open?: string[];
    random?: () => number;
  },
) =>
  orderCandidates(all, wanted, model, { mayTry: (id) => !open.includes(id), random })
    .map(({ name }) => name)
    .join();

test('prefers the exact model, then another name of it, then a pattern, then connections for every model', () => {
  const all = [
    connection('every', { priority: 0 }),
    connection('pattern', { models: ['gpt-*'], priority: 1 }),
    connection('alias', { models: ['gpt-5'], priority: 2 }),
    connection('exact', { models: ['gpt-5-2025-08-07'], priority: 3 }),
    connection('other', { models: ['o3', 'claude-*'] }),
  ];
  expect(names(all, 'gpt-5-2025-08-07')).toBe('exact,alias,pattern,every');
  expect(names(all, 'openai/gpt-5')).toBe('alias,every');
  expect(names(all, 'o3')).toBe('other,every');
});

test('tries lower priorities first', () => {
  expect(names([connection('b', { priority: 2 }), connection('a', { priority: 1 })])).toBe('a,b');
});

test('draws among equal priorities in proportion to their weight', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const all = [connection('light', { weight: 1 }), connection('heavy', { weight: 3 })];
  const draws = Array.from({ length: 4_000 }, () => names(all, 'gpt-5', { random }));
  const heavyShare = draws.filter((order) => order === 'heavy,light').length / draws.length;
  expect(heavyShare).toBeGreaterThan(0.72);
  expect(heavyShare).toBeLessThan(0.78);
});

test('serves each format by the connections of the kinds that speak it', () => {
  const all = [
    connection('openai'),
    connection('azure', { kind: 'azure_openai', priority: 1 }),
    connection('anthropic', { kind: 'anthropic' }),
    connection('local', { kind: 'openai_compatible' }),
    connection('named', { kind: 'openai_compatible', models: ['llama-*'] }),
  ];
  expect(names(all, 'gpt-5')).toBe('openai,azure');
  expect(names(all, 'llama-4')).toBe('named,openai,azure');
  expect(names(all, 'claude-x', { wanted: { format: callFormats.messages } })).toBe('anthropic');
  expect(names(all, 'gpt-5', { wanted: { kind: 'azure_openai' } })).toBe('azure');
  expect(names(all, 'gpt-5', { wanted: { connection: 'local' } })).toBe('local');
  expect(names(all, 'gpt-5', { wanted: { connection: 'named' } })).toBe('');
  expect(names(all, 'gpt-5', { wanted: { connection: 'missing' } })).toBe('');
});

test('puts connections with an open breaker last, and still tries them if there is no other', () => {
  const all = [connection('a'), connection('b', { priority: 1 }), connection('c', { priority: 2 })];
  expect(names(all, 'gpt-5', { open: ['a'] })).toBe('b,c,a');
  expect(names(all, 'gpt-5', { open: ['a', 'b', 'c'] })).toBe('a,b,c');
  expect(names([connection('a')], 'gpt-5', { open: ['a'] })).toBe('a');
});

test('without a model every connection is a candidate, whatever models it lists', () => {
  const all = [
    connection('listed', { models: ['o3'], priority: 1 }),
    connection('every'),
    connection('other', { kind: 'anthropic' }),
  ];
  const candidates = orderCandidates(all, { format: callFormats.chat }, undefined, {
    mayTry: () => true,
    random: () => 0,
  });
  expect(candidates.map(({ name }) => name)).toEqual(['every', 'listed']);
});

test('connections to Bedrock take the models that it has, by their names and ids', () => {
  const id = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
  const all = [
    connection('anthropic', { kind: 'anthropic', priority: 9 }),
    connection('bedrock', { kind: 'bedrock', region: 'eu-west-1' }),
    connection('listing', { kind: 'bedrock', models: [id] }),
    connection('pattern', { kind: 'bedrock', models: ['eu.anthropic.*'], region: 'eu-west-1' }),
    connection('elsewhere', { kind: 'bedrock', models: ['us.anthropic.*'], region: 'eu-west-1' }),
  ];
  const wanted = { format: callFormats.messages };
  expect(names(all, 'claude-sonnet-4-5', { wanted })).toBe('listing,pattern,bedrock,anthropic');
  expect(names(all, id, { wanted })).toBe('listing,pattern,bedrock,anthropic');
  expect(names(all, 'claude-none', { wanted })).toBe('anthropic');
  expect(names(all, 'amazon.nova-pro-v1:0', { wanted })).toBe('bedrock');
  expect(names(all, 'gpt-5')).toBe('');
  expect(names(all, 'new-model', { wanted: { kind: 'bedrock' } })).toBe('bedrock');
});

test('a resource of Bedrock that does not name its model goes to the connection that states it', () => {
  const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3';
  const all = [
    connection('anthropic', { kind: 'anthropic' }),
    connection('other', { kind: 'bedrock' }),
    connection('stating', { kind: 'bedrock', deploymentModels: { [arn]: 'claude-sonnet-4-5' } }),
  ];
  expect(names(all, arn, { wanted: { format: callFormats.messages } })).toBe('stating');
});

test('takes chats of its own models alone where a provider imitates them, before connections for every model', () => {
  const all = [
    connection('every'),
    connection('anthropic', { kind: 'anthropic' }),
    connection('gemini', { kind: 'gemini' }),
    connection('vertex', { kind: 'vertex', priority: 1 }),
    connection('listed', { kind: 'openai_compatible', models: ['claude-*'], priority: 2 }),
  ];
  expect(names(all, 'gpt-5')).toBe('every');
  expect(names(all, 'claude-sonnet-5')).toBe('listed,anthropic,every');
  expect(names(all, 'google/gemini-3-flash')).toBe('gemini,vertex,every');
  expect(names(all, 'meta/llama-4-scout-17b-16e-instruct-maas')).toBe('vertex,every');
  const only = [connection('anthropic', { kind: 'anthropic', models: ['team-model'] })];
  expect([names(only, 'team-model'), names(only, 'claude-sonnet-5')]).toEqual(['anthropic', '']);
});

test('serves models of Google and Anthropic at Vertex AI, under their names there or at their vendors', () => {
  const all = [connection('vertex', { kind: 'vertex' })];
  const { messages, gemini } = callFormats;
  for (const [format, model, expected] of [
    [messages, 'claude-sonnet-4-5-20250929', 'vertex'],
    [messages, 'gpt-5', ''],
    [gemini, 'gemini-3-flash', 'vertex'],
    [gemini, 'imagen-4', ''],
  ] as const) {
    expect(names(all, model, { wanted: { format } })).toBe(expected);
  }
  const listed = [connection('listed', { kind: 'vertex', models: ['claude-sonnet-4-5@20250929'] })];
  for (const model of ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929']) {
    expect(names(listed, model, { wanted: { format: messages } })).toBe('listed');
  }
});
