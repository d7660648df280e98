/**
 * Container images and containers for tests, with Debian's buildah and podman. No registry of images is needed: the two base
 * images of the Dockerfile are made from Debian's packages, with the machine's own Node and npm.
 */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const repository = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const outputBytesMax = 64 * 1024 * 1024;

const tools = ['buildah', 'podman', 'mmdebstrap'];

/** Returns the reason why images cannot be built and run here, or undefined if they can. */
export function containersMissing(): string | undefined {
  if (process.getuid?.() !== 0) {
    return 'images are built as root here';
  }
  const missing = tools.filter((tool) => !hasTool(tool));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
}

export function hasTool(name: string): boolean {
  try {
    execFileSync('which', [name], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Containers {
  /** Runs podman on the private storage. Does not throw if it fails. */
  podman(...args: string[]): Promise<Finished>;
  /** Builds the image of the repository. Returns its name. */
  buildPurser(): Promise<string>;
  /** Ends all containers and removes the storage. */
  remove(): Promise<void>;
}

/** Packages of an image like `gcr.io/distroless/cc-debian12`: libraries, no shell. */
const basePackages = [
  'base-files',
  'netbase',
  'tzdata',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'ca-certificates',
];
const buildPackages = ['base-files', 'dash', 'coreutils', 'findutils', 'libc6', 'libgcc-s1', 'libstdc++6'];

export function openContainers(): Containers {
  const directory = mkdtempSync(join(tmpdir(), 'purser-images-'));
  const storage = ['--root', join(directory, 'store'), '--runroot', join(directory, 'run')];
  const common = [...storage, '--storage-driver', 'vfs'];
  // crun does not support machines with both versions of control groups.
  const runtime = hasTool('runc') ? ['--runtime', 'runc'] : [];

  async function podman(...args: string[]): Promise<Finished> {
    try {
      const all = [...common, '--cgroup-manager', 'cgroupfs', ...runtime, ...args];
      return { code: 0, ...(await run('podman', all, { maxBuffer: outputBytesMax })) };
    } catch (error) {
      const { code, stdout, stderr } = error as Finished;
      return { code, stdout, stderr };
    }
  }

  async function importPackages(name: string, packages: readonly string[]): Promise<void> {
    const file = join(directory, 'packages.tar');
    await run('mmdebstrap', ['--quiet', '--variant=extract', `--include=${packages}`, 'bookworm', file]);
    const { code, stderr } = await podman('import', '--quiet', file, name);
    rmSync(file);
    if (code !== 0) {
      throw new Error(stderr);
    }
  }

  async function build(name: string, context: string, ...options: string[]): Promise<void> {
    const all = [...common, 'bud', '--quiet', '--isolation', 'chroot', '--format', 'docker', '--tag', name];
    await run('buildah', [...all, ...options, context], { maxBuffer: outputBytesMax });
  }

  /** Like the official image of Node: the binary in /usr/local/bin, and npm. */
  async function buildNodeImage(): Promise<string> {
    await importPackages('localhost/build-packages', buildPackages);
    const context = join(directory, 'node-image');
    mkdirSync(context);
    copyFileSync(process.execPath, join(context, 'node'));
    const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
    cpSync(join(npm, 'npm'), join(context, 'npm'), { recursive: true, dereference: true });
    const certificates = process.env.NODE_EXTRA_CA_CERTS;
    if (certificates !== undefined && existsSync(certificates)) {
      copyFileSync(certificates, join(context, 'certificates.crt'));
    } else {
      writeFileSync(join(context, 'certificates.crt'), '');
    }
    const lines = [
      'FROM localhost/build-packages',
      'COPY node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'COPY certificates.crt /certificates.crt',
      'ENV NODE_EXTRA_CA_CERTS=/certificates.crt npm_config_cache=/npm-cache npm_config_prefer_offline=true',
      'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm',
    ];
    writeFileSync(join(context, 'Dockerfile'), `${lines.join('\n')}\n`);
    await build('localhost/node', context);
    return 'localhost/node';
  }

  return {
    podman,
    async buildPurser() {
      await importPackages('localhost/base', basePackages);
      const cache = join(homedir(), '.npm');
      mkdirSync(cache, { recursive: true });
      await build(
        'localhost/purser',
        repository,
        ...['--file', join(repository, 'deploy/docker/Dockerfile'), '--network', 'host'],
        ...[
          '--build-arg',
          `NODE_IMAGE=${await buildNodeImage()}`,
          '--build-arg',
          'BASE_IMAGE=localhost/base',
        ],
        ...['--volume', `${cache}:/npm-cache`],
      );
      return 'localhost/purser';
    },
    async remove() {
      await podman('rm', '--all', '--force', '--time', '0', '--volumes');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The limits of this process: a runtime without permission to raise limits could not start a container with its defaults. */
export const inheritedLimits = ['nofile', 'nproc'].flatMap((name) => ['--ulimit', `${name}=4096:4096`]);
