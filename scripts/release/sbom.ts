/**
 * The software bill of materials in CycloneDX 1.5. Generated from the lock file, without serial number and time, so that it
 * changes only with the dependencies; `npm sbom` adds both.
 */
import { distinctPackages, type LockFile, type RuntimePackage } from './lock-file.ts';

export function billOfMaterials(lock: LockFile): string {
  const components = distinctPackages(lock).map(component);
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `purser@${lock.version}`,
        name: 'purser',
        version: lock.version,
        purl: `pkg:npm/purser@${lock.version}`,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components,
    dependencies: [
      { ref: `purser@${lock.version}`, dependsOn: dependenciesOf(lock, '') },
      ...distinctPackages(lock).map(({ name, version, path }) => ({
        ref: `${name}@${version}`,
        dependsOn: dependenciesOf(lock, path),
      })),
    ],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function component({ name, version, integrity, license }: RuntimePackage): object {
  const [algorithm = '', digest = ''] = integrity.split('-');
  return {
    type: 'library',
    'bom-ref': `${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [
      { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') },
    ],
    ...(license !== undefined && { licenses: [{ license: { id: license } }] }),
  };
}

function dependenciesOf({ packages }: LockFile, path: string): string[] {
  const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies })
    .flatMap((name) => {
      const version = installedVersion(packages, path, name);
      return version === undefined ? [] : [`${name}@${version}`];
    })
    .sort();
}

/** Resolves a name like Node does: from the package's own `node_modules` upwards. */
function installedVersion(packages: LockFile['packages'], path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const found = packages[folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`];
    if (found !== undefined || folder === '') {
      return found?.version;
    }
  }
}
