/** Generators make types with the names of the resources from the OpenAPI document, and real responses have these types. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld } from '../harness.ts';
import { client } from './installed-clients.ts';

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../..');
const document = join(repository, 'docs/generated/openapi.json');
const openApiTypescript = await client(
  { name: 'openapi-typescript', from: 'npm', packages: ['openapi-typescript@7.13.0', 'typescript@5.9.3'] },
  'node_modules/openapi-typescript/bin/cli.js',
);
const python = await client(
  { name: 'datamodel-code-generator', from: 'PyPI', packages: ['datamodel-code-generator==0.89.0'] },
  'bin/python',
);

let names: string[];
let budget: object;
let runs: { readonly data: readonly object[]; readonly next_cursor: string | null };
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'purser-generated-types-'));
  names = Object.keys(JSON.parse(await readFile(document, 'utf8')).components.schemas);
  const world = await createWorld();
  try {
    const { id, ownerKey } = await world.createOrg();
    const send = async (method: string, path: string, body?: object) =>
      (await world.request(method, path, { key: ownerKey, ...(body && { body }) })).json;
    budget = await send('POST', `/v1/orgs/${id}/budgets`, {
      name: 'All',
      scope_kind: 'org',
      period: 'month',
      limit_usd: '100',
    });
    await send('POST', '/v1/runs', { model: 'gpt-4o', cost_usd: '0.25', tags: { environment: 'test' } });
    runs = await send('GET', '/v1/runs');
  } finally {
    await world.close();
  }
  expect(runs.data).toHaveLength(1);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe.skipIf(openApiTypescript === undefined)('openapi-typescript', () => {
  let compile: (code: string) => Promise<string>;
  beforeAll(async () => {
    await run('node', [openApiTypescript as string, document, '--output', join(directory, 'purser.ts')]);
    compile = async (code) => {
      const file = join(directory, 'use.ts');
      await writeFile(file, `import type { components, operations, webhooks } from './purser.ts';\n${code}`);
      const options = [
        '--noEmit',
        '--strict',
        '--allowImportingTsExtensions',
        '--moduleResolution',
        'bundler',
      ];
      const tsc = join(repository, 'node_modules/typescript/bin/tsc');
      return run('node', [tsc, ...options, '--module', 'esnext', '--lib', 'esnext', file]).then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      );
    };
  });

  test('openapi-typescript has a type for every schema, and real responses have these types', async () => {
    const code = `
      type Schemas = components['schemas'];
      export const budget: Schemas['Budget'] = ${JSON.stringify(budget)};
      export const runs: Schemas['RunList'] = ${JSON.stringify(runs)};
      export const first: Schemas['Run'] | undefined = runs.data[0];
      export const period: 'day' | 'week' | 'month' | 'quarter' | 'year' = budget.period;
      export const role: Schemas['MemberRole'] = 'owner';
      export type Named = [${names.map((name) => `Schemas['${name}']`).join(', ')}];
      type Created = operations['budgets.create'];
      export const request: Created['requestBody']['content']['application/json'] =
        { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '100' };
      export const response: Created['responses'][201]['content']['application/json'] = budget;
      export const key: NonNullable<NonNullable<Created['parameters']['header']>['Idempotency-Key']> = 'once';
      export const org: Created['parameters']['path']['id'] = 'org_x';
      export const code: Created['responses'][422]['content']['application/json']['error']['code'] =
        'validation_failed';
      export const event: webhooks['budget.created']['post']['requestBody']['content']['application/json']['type'] = 'budget.created';
    `;
    expect(await compile(code)).toBe('');
  });

  test('rejects what is not in the document', async () => {
    expect(await compile(`export type None = components['schemas']['Teapot'];`)).toContain('Teapot');
    const wrong = JSON.stringify({ ...budget, period: 'decade' });
    expect(await compile(`export const budget: components['schemas']['Budget'] = ${wrong};`)).toContain(
      'decade',
    );
  });
});

describe.skipIf(python === undefined)('datamodel-code-generator', () => {
  const inDirectory = (code: string) =>
    run(python as string, ['-c', code], { cwd: directory }).then(
      ({ stdout }) => stdout,
      ({ stderr }: { stderr: string }) => stderr,
    );
  beforeAll(async () => {
    await run(join(python as string, '../datamodel-codegen'), [
      ...['--input', document, '--input-file-type', 'openapi', '--output', join(directory, 'purser.py')],
      ...['--output-model-type', 'pydantic_v2.BaseModel', '--target-python-version', '3.11'],
      ...['--naming-strategy', 'parent-prefixed', '--collapse-root-models', '--formatters', 'builtin'],
    ]);
    await writeFile(join(directory, 'budget.json'), JSON.stringify(budget));
    await writeFile(join(directory, 'runs.json'), JSON.stringify(runs));
  });

  test('datamodel-code-generator has a class for every schema, and real responses fit into them', async () => {
    const classes = names.map((name) =>
      name
        .split('_')
        .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
        .join(''),
    );
    const code = `
import json, purser
print([name for name in json.loads('${JSON.stringify(classes)}') if not hasattr(purser, name)])
runs = purser.RunList.model_validate_json(open('runs.json').read())
print(type(runs.data[0]) is purser.Run, runs.data[0].cost_usd, runs.data[0].status.value)
budget = purser.Budget.model_validate_json(open('budget.json').read())
print(type(budget.period) is purser.LimitPeriod, budget.limit_usd)
later = json.loads(open('budget.json').read()) | {'added_later': 1}
print(purser.Budget.model_validate(later).id == budget.id)
`;
    expect(await inDirectory(code)).toBe('[]\nTrue 0.25 succeeded\nTrue 100\nTrue\n');
  });

  test('rejects requests that the service rejects', async () => {
    const code = `import purser\npurser.CreateBudget(name='All', scope_kind='org', period='decade', limit_usd='1')`;
    expect(await inDirectory(code)).toContain('period');
  });
});
