/** The Kubernetes manifests and the Compose file, against the schemas and parsers of their tools. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasTool } from '../support/containers.ts';
import { install } from '../support/tool-cache.ts';

const repository = resolve(import.meta.dirname, '../..');
const manifests = join(repository, 'deploy/kubernetes');
const tools = await install({
  name: 'manifest-tools',
  from: 'PyPI',
  packages: ['kubernetes-validate==1.37.0', 'podman-compose==1.6.0'],
});
const bin = 'directory' in tools ? join(tools.directory, 'bin') : undefined;
if ('missing' in tools) {
  process.stderr.write(`Manifests and compose.yaml are not validated: ${tools.missing}\n`);
}

/** The oldest and the newest release of Kubernetes that are checked. */
const releases = ['1.28', '1.34'];

describe.skipIf(bin === undefined)('the deployment files', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'purser-manifests-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  function validate(release: string, text: string) {
    const file = join(directory, 'manifest.yaml');
    writeFileSync(file, text);
    const { status, stdout, stderr } = spawnSync(
      join(bin as string, 'kubernetes-validate'),
      ['--strict', '--kubernetes-version', release, file],
      { encoding: 'utf8' },
    );
    return { status, output: stdout + stderr };
  }
  const files = readdirSync(manifests).filter((name) => name !== 'kustomization.yaml');

  test.each(releases)('every manifest is valid for Kubernetes %s, and an invalid one is found', (release) => {
    for (const name of files) {
      const { status, output } = validate(release, readFileSync(join(manifests, name), 'utf8'));
      expect(status, `${name}: ${output}`).toBe(0);
    }
    const deployment = readFileSync(join(manifests, 'deployment.yaml'), 'utf8');
    expect(validate(release, deployment.replace('replicas: 3', 'replicas: three')).status).not.toBe(0);
    expect(validate(release, deployment.replace('readinessProbe:', 'readynessProbe:')).status).not.toBe(0);
  });

  test.skipIf(!hasTool('kubectl'))('the kustomization renders every manifest, all of them valid', () => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', manifests], { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    const kinds = [...stdout.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind).sort();
    expect(kinds).toEqual([
      'ConfigMap',
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
    expect(validate('1.34', stdout).status).toBe(0);
  });

  // podman-compose asks podman for its version first.
  test.skipIf(!hasTool('podman'))('compose.yaml is valid, and asks for the password of the database', () => {
    const compose = (env: Record<string, string>) =>
      spawnSync(
        join(bin as string, 'podman-compose'),
        ['--file', join(repository, 'deploy/docker/compose.yaml'), 'config'],
        { encoding: 'utf8', env: { PATH: process.env.PATH, ...env } },
      );
    const { status, stdout, stderr } = compose({ POSTGRES_PASSWORD: 'secret' });
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/postgres:\/\/purser:secret@database:5432\/purser/);
    expect(compose({}).status).not.toBe(0);
  });
});
