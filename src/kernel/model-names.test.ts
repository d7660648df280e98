import { expect, test } from 'vitest';
import {
  shorterNames,
  withDashedVersion,
  withoutDateSuffix,
  withoutProviderPrefixes,
} from './model-names.ts';

test.each([
  ['openai/gpt-4o', ['gpt-4o']],
  ['anthropic/claude-sonnet-4-5', ['claude-sonnet-4-5']],
  ['models/gemini-2.5-pro', ['gemini-2.5-pro']],
  ['openrouter/openai/gpt-4o', ['openai/gpt-4o', 'gpt-4o']],
  ['azure/eu/gpt-4o', ['eu/gpt-4o', 'gpt-4o']],
  ['vertex_ai/claude-3-5-sonnet@20241022', ['claude-3-5-sonnet@20241022']],
  ['projects/p/locations/l/publishers/google/models/gemini-2.5-pro', ['gemini-2.5-pro']],
  ['together_ai/meta-llama/Llama-3.3-70B', ['meta-llama/Llama-3.3-70B']],
  [
    'us.anthropic.claude-3-5-sonnet-20241022-v2:0',
    [
      'anthropic.claude-3-5-sonnet-20241022-v2:0',
      'claude-3-5-sonnet-20241022-v2:0',
      'claude-3-5-sonnet-20241022-v2',
      'claude-3-5-sonnet-20241022',
    ],
  ],
  [
    'bedrock/us-east-1/amazon.nova-pro-v1:0:300k',
    [
      'us-east-1/amazon.nova-pro-v1:0:300k',
      'amazon.nova-pro-v1:0:300k',
      'nova-pro-v1:0:300k',
      'nova-pro-v1',
      'nova-pro',
    ],
  ],
  [
    'arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-5',
    ['eu.anthropic.claude-opus-4-5', 'anthropic.claude-opus-4-5', 'claude-opus-4-5'],
  ],
])('removes the provider prefixes of %s one by one', (name, rest) => {
  expect(withoutProviderPrefixes(name)).toEqual(rest);
});

test.each([
  'gpt-4.1',
  'meta-llama/Llama-3.3',
  'us.acme',
  'arn:aws',
  'openai/',
  'models/',
  'acme:0',
  'a-v1:0',
])('finds no provider prefix in %s', (name) => {
  expect(withoutProviderPrefixes(name)).toEqual([]);
});

test('bounds the work for a name of many prefixes', () => {
  expect(withoutProviderPrefixes(`${'openai/'.repeat(28)}m`)).toHaveLength(8);
});

test.each([
  ['gpt-4o-2024-08-06', 'gpt-4o'],
  ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet'],
  ['claude-3-5-sonnet@20241022', 'claude-3-5-sonnet'],
  ['gemini-2.0-flash-001', 'gemini-2.0-flash'],
  ['text-bison@001', 'text-bison'],
  ['mistral-large-latest', 'mistral-large'],
  ['claude-sonnet-4@default', 'claude-sonnet-4'],
])('removes the date suffix of %s', (name, rest) => {
  expect(withoutDateSuffix(name)).toBe(rest);
});

test.each(['gpt-4o', 'gpt-4-0613', 'acme-100', 'acme-2024', 'acme-99999999', '-latest', 'acme-2024-23-01'])(
  'finds no date suffix in %s',
  (name) => {
    expect(withoutDateSuffix(name)).toBeUndefined();
  },
);

test.each([
  ['azure/eu/gpt-4o', 'azure', 'eu'],
  ['azure_ai/mistral-small', 'azure', null],
  ['us.anthropic.claude-opus-4-5', 'bedrock', 'us'],
  ['anthropic.claude-opus-4-5', 'bedrock', null],
  ['bedrock/us-gov-west-1/amazon.nova-pro-v1:0', 'bedrock', 'us-gov-west-1'],
  ['arn:aws:bedrock:us-east-1:1:foundation-model/amazon.nova-pro-v1:0', 'bedrock', 'us-east-1'],
  ['arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-5', 'bedrock', 'eu'],
  ['fireworks_ai/accounts/fireworks/models/deepseek-r1', 'fireworks_ai', null],
  ['accounts/fireworks/models/deepseek-r1', null, null],
  ['projects/p/locations/europe-west4/publishers/google/models/gemini-2.5-pro', 'vertex_ai', 'europe-west4'],
  ['models/gemini-2.5-pro', null, null],
  ['openrouter/openai/gpt-4o', null, null],
  ['groq/openai/gpt-oss-120b', 'groq', null],
  ['eu/gpt-4o', null, 'eu'],
])('finds where the prefixes of %s say that the model is called', (name, host, region) => {
  expect(shorterNames(name).at(-1)).toMatchObject({ host, region });
});

test.each([
  ['claude-sonnet-4.6', 'claude-sonnet-4-6'],
  ['claude-3.7-sonnet', 'claude-3-7-sonnet'],
  ['claude-sonnet-4-6', undefined],
  ['gpt-4.1', undefined],
])('writes the version of %s with dashes if it is a Claude model with dots', (name, dashed) => {
  expect(withDashedVersion(name)).toBe(dashed);
});
