import { expect, test } from 'vitest';
import { ApiError } from '../../../../contract/api-error.ts';
import { checkBaseUrl, urlBelow } from '../base-url.ts';
import { calledAtOf } from './index.ts';

const rules = { allowPrivateNetworks: false, defaultUrls: {} };
const check = (url: string | undefined) => checkBaseUrl(url, 'vertex', rules);

test.each([
  ['https://aiplatform.googleapis.com/projects/p-1/locations/global', 'global'],
  ['https://aiplatform.googleapis.com/projects/p-1/locations/us-central1', 'us-central1'],
  ['https://europe-west1-aiplatform.googleapis.com/projects/p-1/locations/europe-west1', 'europe-west1'],
  ['https://aiplatform.us.rep.googleapis.com/projects/p-1/locations/us', 'us'],
  ['https://vertex.example.com/google/projects/example.com:p-1/locations/asia-east1', 'asia-east1'],
])('%s has the rates of %s', (url, region) => {
  expect(check(`${url}/`)).toBe(url);
  expect(calledAtOf({ kind: 'vertex', baseUrl: url })).toEqual({ provider: 'vertex_ai', region });
  const [host, account] = url.split(/(?=\/projects)/);
  expect(urlBelow({ kind: 'vertex', baseUrl: url }, '/v1{account}/publishers/google?a=1').href).toBe(
    `${host}/v1${account}/publishers/google?a=1`,
  );
});

test('express mode has neither a project nor a region', () => {
  const url = 'https://aiplatform.googleapis.com';
  expect(check(url)).toBe(url);
  expect(calledAtOf({ kind: 'vertex', baseUrl: url })).toEqual({ provider: 'vertex_ai', region: null });
  expect(urlBelow({ kind: 'vertex', baseUrl: url }, '/v1{account}/publishers').href).toBe(
    `${url}/v1/publishers`,
  );
});

test.each([
  undefined,
  'https://aiplatform.googleapis.com/v1',
  'https://aiplatform.googleapis.com/v1/projects/p/locations',
  'https://aiplatform.googleapis.com/projects/p/locations/global/publishers/google',
  'https://aiplatform.googleapis.com/projects/p%2Fq/locations/global',
  'https://europe-west1-aiplatform.googleapis.com',
  'https://europe-west1-aiplatform.googleapis.com/projects/p/locations/us-central1',
  'https://aiplatform.googleapis.com/projects/p/locations/global?key=x',
])('%s is not the URL of a connection', (url) => {
  expect(() => check(url)).toThrow(ApiError);
});
