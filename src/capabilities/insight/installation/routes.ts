import { type Route, read } from '../../../platform/http/routes/route.ts';
import { type InstallationDependencies, readInstallation } from './installation.ts';
import { InstallationView } from './schema.ts';

export function installationRoutes(deps: InstallationDependencies): Route[] {
  return [
    read({
      id: 'installation.read',
      path: '/v1/admin/installation',
      summary: 'Get the state of the installation',
      description:
        'Engine, version, migrations, processes, queues, jobs, prices and spools, with a check of each. The jobs, ' +
        'spools and connections are those of the process that answers. `purser doctor` also checks the host and the ' +
        'database server.',
      access: { kind: 'operator' },
      response: InstallationView,
      handler: ({ now }) => readInstallation(deps, now),
    }),
  ];
}
