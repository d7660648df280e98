/** The gateway inside the `claude` binary, with a spend limit of the organization and one developer who has signed in with a device. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Browser } from '../../test/support/cookie-browser.ts';
import { freePort } from '../../test/support/free-port.ts';
import { startOidcProvider } from '../../test/support/oidc-provider.ts';
import { install } from '../../test/support/tool-cache.ts';
import { startPostgres } from '../postgres.ts';
import { temporaryDirectory } from '../processes.ts';
import { type Absent, type GatewayServer, start } from './peers.ts';

export const claudeVersion = '2.1.197';
/** Where npm puts the binary of this platform. */
const binary = `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`;
const adminKey = 'key-of-the-bench-for-spend-limits-of-claude';
const centsPerDollar = 100;

export async function startClaudeGateway(
  providerPort: number,
  budgetUsd: number,
): Promise<GatewayServer | Absent> {
  const packages = [`@anthropic-ai/claude-code@${claudeVersion}`];
  const installed = await install({ name: 'claude', from: 'npm', packages });
  if ('missing' in installed) {
    return installed;
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const idp = await startOidcProvider(`${url}/oauth/callback`);
  idp.account = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' };
  const postgres = await startPostgres();
  const config = join(temporaryDirectory(), 'gateway.yaml');
  // JSON is YAML.
  await writeFile(
    config,
    JSON.stringify({
      listen: { host: '127.0.0.1', port, public_url: url },
      oidc: { issuer: idp.issuer, client_id: idp.clientId, client_secret: idp.clientSecret },
      session: { jwt_secret: 'secret of the bench for the sessions of developers' },
      store: { postgres_url: await postgres.database('claude') },
      upstreams: [
        {
          provider: 'anthropic',
          base_url: `http://127.0.0.1:${providerPort}`,
          auth: { api_key: 'provider' },
        },
      ],
      admin: { write_keys: [{ id: 'bench', key: adminKey }] },
    }),
  );
  const args = ['gateway', '--config', config];
  const settings = { CLAUDE_GATEWAY_ALLOW_LOOPBACK: '1' };
  const started = await start(join(installed.directory, binary), args, port, settings);
  const token = await signInWithDevice(url);
  await setSpendLimit(url, budgetUsd);
  return {
    ...started,
    headers: { authorization: `Bearer ${token}` },
    async stop() {
      await started.stop();
      await Promise.all([idp.close(), postgres.stop()]);
    },
  };
}

async function signInWithDevice(url: string): Promise<string> {
  const client = { client_id: 'claude-code' };
  const endpoints = await json<{ device_authorization_endpoint: string; token_endpoint: string }>(
    fetch(`${url}/.well-known/oauth-authorization-server`),
  );
  const device = await json<{
    device_code: string;
    user_code: string;
    verification_uri: string;
    verification_uri_complete: string;
  }>(posted(endpoints.device_authorization_endpoint, client));
  const browser = new Browser();
  // The page sets the cookie that its form needs.
  await browser.request(device.verification_uri_complete);
  const { headers } = await browser.request(device.verification_uri, {
    form: { user_code: device.user_code },
    origin: url,
  });
  await browser.follow(new URL(headers.get('location') ?? '', url).href);
  const { access_token } = await json<{ access_token: string }>(
    posted(endpoints.token_endpoint, {
      ...client,
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device.device_code,
    }),
  );
  return access_token;
}

async function setSpendLimit(url: string, usd: number): Promise<void> {
  const limit = {
    scope: { type: 'organization' },
    amount: String(usd * centsPerDollar),
    period: 'daily',
  };
  await json(
    fetch(`${url}/v1/organizations/spend_limits`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': adminKey },
      body: JSON.stringify(limit),
    }),
  );
}

function posted(url: string, form: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(form) });
}

async function json<Body>(sent: Promise<Response>): Promise<Body> {
  const response = await sent;
  if (!response.ok) {
    throw new Error(`${response.url} answered ${response.status}: ${await response.text()}`);
  }
  return (await response.json()) as Body;
}
