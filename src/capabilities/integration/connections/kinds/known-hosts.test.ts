import { expect, test } from 'vitest';
import { calledAtOf } from './index.ts';

test.each([
  ['https://api.openai.com/v1', 'openai', null],
  ['https://eu.api.openai.com/v1', 'openai', 'eu'],
  ['https://acme.openai.azure.com/openai/v1', 'azure_openai', null],
  ['https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1', 'aws', 'eu-west-1'],
  ['https://bedrock-mantle.us-east-1.api.aws/v1', 'aws', 'us-east-1'],
  ['https://us-central1-aiplatform.googleapis.com/v1/projects/p', 'vertex_ai', 'us-central1'],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'google', null],
  ['https://api.groq.com/openai/v1', 'groq', null],
  ['https://api.x.ai/v1', 'xai', null],
  ['https://aiplatform.eu.rep.googleapis.com/v1/projects/p', 'vertex_ai', 'eu'],
  ['https://vpce-0a1-b2.bedrock-runtime.us-east-1.vpce.amazonaws.com/openai/v1', 'aws', 'us-east-1'],
  ['https://EU.API.OpenAI.com.:443/v1', 'openai', 'eu'],
  ['https://acme.openai.azure.com./openai/v1', 'azure_openai', null],
  ['https://models.example.com/v1', null, null],
  ['https://storage.rep.googleapis.com/v1', null, null],
  ['https://notapi.groq.com/v1', null, null],
  ['https://api.groq.com@models.example.com/v1', null, null],
  ['https://127.0.0.1/api.groq.com/v1', null, null],
  ['https://[::1]/api.groq.com/v1', null, null],
  ['https://api.groq.com.example.com/v1', null, null],
  ['https://s3.eu-west-1.amazonaws.com/v1', null, null],
])('a compatible connection to %s calls models at %s in %s', (baseUrl, provider, region) => {
  expect(calledAtOf({ kind: 'openai_compatible', baseUrl })).toEqual({ provider, region });
});

test('a connection to a host that is not known has the provider of its kind', () => {
  const baseUrl = 'https://proxy.example.com/v1';
  expect(calledAtOf({ kind: 'openai', baseUrl }).provider).toBe('openai');
  expect(calledAtOf({ kind: 'anthropic', baseUrl }).provider).toBe('anthropic');
  expect(calledAtOf({ kind: 'azure_openai', baseUrl }).provider).toBe('azure_openai');
});
