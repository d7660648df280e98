import { expect, test } from 'vitest';
import type { InProcessRequest } from '../platform/http/pipeline/in-process-client.ts';
import { type ApiVisitor, apiFor } from './api.ts';

test('a page makes one request for the same path, and another one after a change', async () => {
  const requests: string[] = [];
  const client = async ({ method, path }: InProcessRequest) => {
    requests.push(`${method} ${path}`);
    return { status: 200, headers: {}, body: JSON.stringify({ requests: requests.length }) };
  };
  const api = apiFor(client, () => undefined, {} as ApiVisitor);
  const both = await Promise.all([api.get('/v1/a'), api.tryGet('/v1/a')]);
  expect(both).toEqual([{ requests: 1 }, { requests: 1 }]);
  await api.get('/v1/a?limit=1');
  await api.send('POST', '/v1/a');
  expect(await api.get('/v1/a')).toEqual({ requests: 4 });
  expect(requests).toEqual(['GET /v1/a', 'GET /v1/a?limit=1', 'POST /v1/a', 'GET /v1/a']);
});
