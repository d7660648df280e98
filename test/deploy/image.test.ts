/** The container image, built from the Dockerfile and run: size, user, read-only root file system, health check, signals. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Containers,
  containersMissing,
  inheritedLimits,
  openContainers,
} from '../support/containers.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';

const missing = containersMissing();
if (missing !== undefined) {
  process.stderr.write(`The container image is not tested: ${missing}.\n`);
}

const sizeBytesMax = 250_000_000;
const name = 'purser-under-test';

describe.skipIf(missing !== undefined)('the container image', () => {
  let containers: Containers;
  let image: string;
  beforeAll(async () => {
    containers = openContainers();
    image = await containers.buildPurser();
  });
  afterEach(async () => {
    await containers.podman('rm', '--force', '--time', '0', '--volumes', name);
  });
  afterAll(() => containers?.remove());

  const podman = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await containers.podman(...args);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const hardening = [
    ...['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ...inheritedLimits,
  ];
  const logs = async () => (await containers.podman('logs', name)).stdout;
  const exec = (...command: string[]) => podman('exec', name, ...command);

  async function start(volume: string): Promise<string> {
    const port = await freePort();
    await podman(
      ...['run', '--detach', '--name', name, '--network', 'host', ...hardening],
      ...['--env', `SVC_PORT=${port}`, '--volume', `${volume}:/data`, image],
    );
    return `http://127.0.0.1:${port}`;
  }
  const ready = () => exec('purser', 'health', '--ready', '--wait', '120');
  const exitCode = () => podman('inspect', name, '--format', '{{.State.ExitCode}}');

  test('the container image is below 250 MB, and contains no shell, no package manager and no sources', async () => {
    expect(Number(await podman('image', 'inspect', image, '--format', '{{.Size}}'))).toBeLessThan(
      sizeBytesMax,
    );
    const config = JSON.parse(await podman('image', 'inspect', image, '--format', '{{json .Config}}'));
    expect(config).toMatchObject({ User: '65532:65532', StopSignal: 'SIGTERM' });
    const present = `['/bin/sh', '/usr/bin/apt', '/usr/local/bin/npm', '/app/src', '/app/node_modules/vitest']
      .filter((path) => fs.existsSync(path))`;
    const node = ['run', '--rm', ...hardening, '--entrypoint', 'node', image, '-p'];
    expect(await podman(...node, `JSON.stringify(${present})`)).toBe('[]');
  });

  test('serves as an ordinary user on a read-only root file system, and keeps its data in the volume', async () => {
    const url = await start('purser-kept');
    await ready();
    await podman('healthcheck', 'run', name);
    const attempt = `try { fs.writeFileSync('/app/x', ''); 'written' } catch (error) { error.code }`;
    expect(await exec('node', '-p', attempt)).toBe('EROFS');
    expect(await exec('node', '-p', 'process.getuid()')).toBe('65532');
    const key = await exec('node', '-p', `fs.readFileSync('/data/operator-key', 'utf8').trim()`);
    const created = await call(url, key, { name: 'Kept' });
    expect(created.status).toBe(201);
    await podman('stop', '--time', '60', name);
    expect(await exitCode()).toBe('0');
    await podman('rm', name);

    const again = await start('purser-kept');
    await ready();
    const listed = (await (await call(again, key)).json()) as { data: { name: string }[] };
    expect(listed.data.map((org) => org.name)).toContain('Kept');
  });

  test('the health check fails while nothing listens', async () => {
    // The process listens on another port than the health check expects.
    await podman(
      ...['run', '--detach', '--name', name, '--network', 'host', ...hardening],
      ...[
        '--env',
        `SVC_PORT=${await freePort()}`,
        '--entrypoint',
        'node',
        image,
        '-e',
        'setInterval(() => {}, 1000)',
      ],
    );
    expect((await containers.podman('healthcheck', 'run', name)).code).toBe(1);
  });

  test('SIGTERM lets a request in flight finish', async () => {
    const url = await start('purser-drained');
    await ready();
    const key = await exec('node', '-p', `fs.readFileSync('/data/operator-key', 'utf8').trim()`);
    const body = JSON.stringify({ name: 'Last call' });
    const headers = { ...headersOf(key), 'content-length': Buffer.byteLength(body), expect: '100-continue' };
    const pending = httpRequest(`${url}/v1/admin/orgs`, { method: 'POST', headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      pending.once('response', resolve).once('error', reject);
    });
    const admitted = new Promise((resolve) => pending.once('continue', resolve));
    pending.flushHeaders();
    await admitted;
    const stopped = podman('stop', '--time', '60', name);
    await eventually(async () => expect(await logs()).toContain('"msg":"draining'));
    pending.end(body);
    expect((await answered).statusCode).toBe(201);
    await stopped;
    expect(await exitCode()).toBe('0');
  });

  test('SIGTERM during the start ends the process at once, although it is the first of its container', async () => {
    await start('purser-never-started');
    await eventually(async () => expect(await logs()).toContain('creating the embedded database'));
    await podman('stop', '--time', '60', name);
    // After the grace period it would be killed, with the code 137.
    expect(await exitCode()).toBe('0');
  });

  test('runs as a user without an entry in /etc/passwd, with a directory that it may write to', async () => {
    const user = ['--user', '123456:0', '--passwd=false', '--tmpfs', '/tmp:mode=1777'];
    const directory = ['--env', 'SVC_DATA_DIR=/tmp', '--env', 'SVC_SPOOL_DIR=/tmp'];
    const keys = ['run', '--rm', ...user, ...directory, ...hardening, image, 'keys'];
    expect(await podman(...keys, 'generate')).toMatch(/^svc_live_/);
  });
});

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

function call(url: string, key: string, body?: object): Promise<Response> {
  return fetch(`${url}/v1/admin/orgs`, {
    headers: headersOf(key),
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
}
