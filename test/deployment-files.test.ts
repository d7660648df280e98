/** The files in `deploy` agree with the settings and with each other. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { describeSettings } from '../src/config/settings.ts';

const deploy = resolve(import.meta.dirname, '../deploy');
const read = (path: string) => readFileSync(join(deploy, path), 'utf8');
const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);

test('name no setting that does not exist', () => {
  const known = new Set(describeSettings().map(({ name }) => name));
  for (const path of readdirSync(deploy, { recursive: true, encoding: 'utf8' })) {
    if (statSync(join(deploy, path)).isFile()) {
      const named = new Set(read(path).match(/\bSVC_[A-Z_]+\b/g));
      expect(
        [...named].filter((name) => !known.has(name)),
        path,
      ).toEqual([]);
    }
  }
});

test('give requests in flight the time that SVC_DRAIN_SECONDS promises', () => {
  const byDefault = Number(describeSettings().find(({ name }) => name === 'SVC_DRAIN_SECONDS')?.fallback);
  const compose = read('docker/compose.yaml');
  const deployment = read('kubernetes/deployment.yaml');
  const pauseMs = numberIn(deployment, /setTimeout\(\(\) => undefined, (\d+)\)/);
  const drains = {
    compose: numberIn(compose, /SVC_DRAIN_SECONDS: "(\d+)"/),
    kubernetes: numberIn(read('kubernetes/settings.yaml'), /SVC_DRAIN_SECONDS: "(\d+)"/) + pauseMs / 1_000,
    systemd: byDefault,
  };
  const graces = {
    compose: numberIn(compose, /stop_grace_period: (\d+)s/),
    kubernetes: numberIn(deployment, /terminationGracePeriodSeconds: (\d+)/),
    systemd: numberIn(read('systemd/purser.service'), /TimeoutStopSec=(\d+)/),
  };
  // After the requests, jobs stop and the database is closed.
  const closingSeconds = 5;
  for (const [place, drain] of Object.entries(drains)) {
    expect(graces[place as keyof typeof graces], place).toBeGreaterThanOrEqual(drain + closingSeconds);
  }
});

test('give a start the same time on Kubernetes and systemd, and let systemd wait for the health check', () => {
  const unit = read('systemd/purser.service');
  const probe = /startupProbe:.*?periodSeconds: (\d+).*?failureThreshold: (\d+)/s;
  const [, period, failures] = probe.exec(read('kubernetes/deployment.yaml')) ?? [];
  const wait = numberIn(unit, /health --ready --wait (\d+) --pid \$\{MAINPID\}/);
  expect(wait).toBe(Number(period) * Number(failures));
  expect(numberIn(unit, /TimeoutStartSec=(\d+)/)).toBeGreaterThan(wait);
});

test('allow connections out to every server that a setting names, on its usual port', () => {
  const [, egress = ''] = read('kubernetes/network-policy.yaml').split('egress:');
  const ports = [...egress.matchAll(/port: (\d+)/g)].map(([, port]) => Number(port));
  // PostgreSQL, Redis, HTTPS, OTLP; mail with STARTTLS and with TLS.
  expect(ports).toEqual(expect.arrayContaining([5_432, 6_379, 443, 4_318, 587, 465]));
});

test('run as the user of the image, with a read-only root file system and without capabilities', () => {
  const [, user] = /^USER (\d+):\d+$/m.exec(read('docker/Dockerfile')) ?? [];
  expect(Number(user)).toBeGreaterThan(0);
  const deployment = read('kubernetes/deployment.yaml');
  for (const field of [
    `runAsUser: ${user}`,
    `fsGroup: ${user}`,
    'runAsNonRoot: true',
    'readOnlyRootFilesystem: true',
    'drop: [ALL]',
  ]) {
    expect(deployment).toContain(field);
  }
  const compose = read('docker/compose.yaml');
  for (const field of ['read_only: true', 'cap_drop: [ALL]', 'no-new-privileges:true']) {
    expect(compose).toContain(field);
  }
});
