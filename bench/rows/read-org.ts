import { againstBareServer } from '../against-bare-server.ts';
import type { PairsRow } from '../measure.ts';
import { startService } from '../processes.ts';

export const readOrg: PairsRow = {
  kind: 'pairs',
  name: 'read-org',
  what: 'authenticated GET /v1/orgs/{id}, embedded engine, one statement a request',
  floor: 'a bare node:http server that answers the same bytes',
  toReach: {},
  async prepare() {
    const service = await startService();
    const org = await service.post<{ id: string }>('/v1/admin/orgs', { name: 'Bench' });
    const key = await service.post<{ secret: string }>(`/v1/admin/orgs/${org.id}/keys`, {
      name: 'bench',
      role: 'viewer',
      scopes: ['org:read'],
    });
    return againstBareServer(service, {
      method: 'GET',
      path: `/v1/orgs/${org.id}`,
      headers: { authorization: `Bearer ${key.secret}` },
    });
  },
};
