/** A stand-in of the services that issue credentials. It records the requests and answers each path as a test says. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CredentialFields,
  type CredentialSource,
  publicEndpoints,
  type Surroundings,
} from '../../src/platform/cloud-credentials/credential-source.ts';
import { createSurroundings } from '../../src/platform/cloud-credentials/surroundings.ts';

export interface ReceivedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface TokenAnswer {
  readonly status?: number;
  readonly body: string | object;
}

export interface TokenServices {
  readonly url: string;
  readonly host: string;
  readonly received: ReceivedRequest[];
  /** Answers by method and path, such as `PUT /latest/api/token`. */
  readonly answers: Map<string, TokenAnswer | ((request: ReceivedRequest) => TokenAnswer)>;
  close(): Promise<void>;
}

export async function startTokenServices(): Promise<TokenServices> {
  const received: ReceivedRequest[] = [];
  const answers: TokenServices['answers'] = new Map();
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const question = { method, path: url, headers, body: Buffer.concat(parts).toString() };
      received.push(question);
      const given = answers.get(`${method} ${url.split('?')[0]}`) ?? { status: 404, body: '' };
      const { status = 200, body } = typeof given === 'function' ? given(question) : given;
      response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    host,
    received,
    answers,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The surroundings of a process whose services are all behind one address. */
export function surroundingsAt(
  services: Pick<TokenServices, 'url'>,
  { variables = {}, tokenFiles = {}, files = {}, nowMs = Date.now }: Partial<TestSurroundings> = {},
): Surroundings {
  const surroundings = createSurroundings({
    variables,
    tokenFiles: new Map(Object.entries(tokenFiles)),
    nowMs,
  });
  return {
    ...surroundings,
    endpoints: Object.fromEntries(
      Object.keys(publicEndpoints).map((name) => [name, `${services.url}/${name}`]),
    ) as unknown as Surroundings['endpoints'],
    async readFile(path) {
      const text = files[path];
      if (text === undefined) {
        throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' });
      }
      return text;
    },
  };
}

interface TestSurroundings {
  readonly variables: Surroundings['variables'];
  readonly tokenFiles: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  nowMs(): number;
}

/** Gets a credential as the connection `team` of `org_1` would. */
export async function acquired(
  source: CredentialSource,
  surroundings: Surroundings,
  fields: CredentialFields = {},
  region: string | undefined = 'eu-west-1',
) {
  return source.acquire({
    fields,
    owner: { orgId: 'org_1', connection: 'team' },
    region,
    surroundings,
  });
}
