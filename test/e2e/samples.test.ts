/**
 * Every sample of the API reference runs against a real service, and succeeds. With PURSER_RECORD_EXAMPLES=1 the responses are
 * recorded for the reference, in docs/generated/examples.json.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import typescript from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decisionSnippets, reportingSnippets } from '../../src/contract/decision-clients.ts';
import { exampleRequests } from '../../src/docs/example-requests.ts';
import { type DocsOperation, type OpenApi, operationsOf } from '../../src/docs/openapi.ts';
import { type Samples, samplesOf } from '../../src/docs/samples.ts';
import { engine, useWorld } from '../harness.ts';
import { exampleOf } from '../support/recorded-examples.ts';
import { createSampleWorld, prepareSample, type SampleWorld } from '../support/sample-requests.ts';

const run = promisify(execFile);
const world = useWorld({
  SVC_BENCHMARK_K_FLOOR: '5',
  SVC_SMTP_URL: 'smtp://localhost:9',
  SVC_SMTP_FROM: 'purser@example.com',
});
let sample: SampleWorld;
let operations: DocsOperation[];
let directory: string;
beforeAll(async () => {
  sample = await createSampleWorld(world);
  const { json } = await world.request('GET', '/v1/openapi.json');
  // PostgreSQL needs no snapshots, so the operation always rejects there.
  operations = operationsOf(json as OpenApi).filter(
    ({ operationId }) => engine === 'embedded' || operationId !== 'snapshots.create',
  );
  directory = mkdtempSync(join(tmpdir(), 'purser-samples-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('every example request belongs to an operation', () => {
  const ids = new Set(operations.map(({ operationId }) => operationId));
  expect(Object.keys(exampleRequests).filter((id) => !ids.has(id))).toEqual([]);
});

test('the example request of every operation succeeds', async () => {
  const failures: string[] = [];
  const examples: Record<string, object> = {};
  for (const operation of operations) {
    const { operationId, method, path } = operation;
    const variables = await prepareSample(sample, operation);
    const { query, body } = exampleRequests[operationId] ?? {};
    const target = path.replaceAll(
      /\{(\w+)\}/g,
      (_, name: string) => variables[name === 'id' ? 'ORG_ID' : name.toUpperCase()] ?? name,
    );
    const filled =
      body &&
      JSON.parse(
        JSON.stringify(body).replaceAll(/"\$([A-Z_]+)"/g, (_, name) => JSON.stringify(variables[name])),
      );
    const answer = await world.request(
      method,
      `${target}${query === undefined ? '' : `?${new URLSearchParams(query)}`}`,
      {
        ...(!operation.isPublic && {
          key: (path.startsWith('/v1/admin/') ? variables.PURSER_OPERATOR_KEY : variables.PURSER_KEY) ?? '',
        }),
        ...(filled && { body: filled }),
      },
    );
    if (answer.status >= 300) {
      failures.push(`${operationId}: ${answer.status} ${answer.text}`);
    }
    examples[operationId] = exampleOf(answer);
  }
  expect(failures).toEqual([]);
  if (process.env.PURSER_RECORD_EXAMPLES === '1') {
    const file = new URL('../../docs/generated/examples.json', import.meta.url);
    writeFileSync(file, `${JSON.stringify(examples, null, 1)}\n`);
  }
});

/** Runs the samples of one language in turn, and reports those that fail. */
interface Runner {
  readonly language: keyof Samples;
  readonly fileName: string;
  readonly command: readonly [string, ...string[]];
}

/** Node and Python run all samples in one process: to start one for each takes longer than the samples. */
const runners: readonly Runner[] = [
  { language: 'sh', fileName: 'run.sh', command: ['bash'] },
  { language: 'ts', fileName: 'run.mjs', command: [process.execPath] },
  { language: 'python', fileName: 'run.py', command: ['python3'] },
];

const drivers: Record<keyof Samples, string> = {
  sh: `for file in "$1"/*.sample; do
  (. "$file.env"; . "$file") > /dev/null 2> "$file.err" || { basename "$file"; cat "$file.err"; }
done`,
  ts: `import { readdirSync, readFileSync, renameSync } from 'node:fs';
console.log = () => undefined;
for (const name of readdirSync(process.argv[2]).filter((file) => file.endsWith('.sample'))) {
  const file = process.argv[2] + '/' + name;
  Object.assign(process.env, JSON.parse(readFileSync(file + '.json', 'utf8')));
  renameSync(file, file + '.mjs');
  await import(file + '.mjs').catch((error) => process.stdout.write(name + ' ' + error.message + '\\n'));
}`,
  python: `import contextlib, glob, io, json, os, sys
for file in sorted(glob.glob(sys.argv[1] + '/*.sample')):
    os.environ.update(json.load(open(file + '.json')))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(open(file).read(), file, 'exec'), {})
    except Exception as error:
        body = error.read().decode() if hasattr(error, 'read') else ''
        print(os.path.basename(file), error, body)`,
};

describe.each(runners)('in $language', ({ language, fileName, command: [program, ...options] }) => {
  test('every sample of the documentation succeeds', async () => {
    const folder = join(directory, language);
    mkdirSync(folder);
    for (const operation of operations) {
      const variables = await prepareSample(sample, operation);
      const file = join(folder, `${operation.operationId}.sample`);
      writeFileSync(file, samplesOf(operation)[language]);
      writeFileSync(`${file}.json`, JSON.stringify(variables));
      writeFileSync(
        `${file}.env`,
        Object.entries(variables)
          .map(([name, value]) => `${name}='${value}'\n`)
          .join(''),
      );
    }
    const driver = join(directory, fileName);
    writeFileSync(driver, drivers[language]);
    const { stdout } = await run(program, [...options, driver, folder], { maxBuffer: 10_000_000 });
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((line) => line !== ''),
    ).toEqual([]);
  });
});

describe('the code on the page of a new API key', () => {
  const programs = { sh: ['bash', '-c'], typescript: [process.execPath, '--input-type=module', '-e'] };

  test('requests a decision and settles it, in every language', async () => {
    const org = await world.createOrg();
    const price = { input_usd_per_million: '1', output_usd_per_million: '2' };
    await world.request('PUT', '/v1/admin/models/gpt-4o-mini', { key: world.operatorKey, body: price });
    const { secret } = await world.mintKey(org, 'member', ['edge:decide', 'runs:write', 'runs:read']);
    const { url } = await world.listen();
    const snippets = decisionSnippets(url, secret);
    expect(snippets.map(({ language }) => language)).toEqual(['sh', 'typescript', 'python']);
    for (const { language, text } of snippets) {
      const [program = 'python3', ...options] =
        language === 'python' || language === 'text' ? ['python3', '-c'] : programs[language];
      const code = language === 'typescript' ? typescript.transpile(text, { target: 99 }) : text;
      // 1,200 input and 310 output tokens at these prices.
      expect([language, (await run(program, [...options, code])).stdout]).toEqual([
        language,
        expect.stringContaining('0.00182'),
      ]);
    }
    const { data } = (await world.request('GET', '/v1/runs', { key: org.ownerKey })).json;
    expect(data).toHaveLength(snippets.length);
    for (const { decision_id, cost_usd } of data) {
      expect([decision_id, cost_usd]).toEqual([expect.stringMatching(/^dec_/), '0.00182']);
    }
    for (const { text } of reportingSnippets(url, secret, org.id)) {
      expect((await run('bash', ['-c', text])).stdout).toMatch(/^model,.*\ngpt-4o-mini,/s);
    }
  });
});
