/**
 * Claude Code signs in with its own `/login`, in a terminal. It takes the address of the gateway only from managed settings, which are in
 * `/etc`, so it runs in a mount namespace with an `/etc` of its own.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Browser } from '../support/cookie-browser.ts';
import { hiddenFields } from '../support/device-sign-in.ts';
import { eventually } from '../support/eventually.ts';
import { useGatewayWorld } from '../support/gateway-world.ts';
import { type OidcIdp, startOidcProvider } from '../support/oidc-provider.ts';
import { install } from '../support/tool-cache.ts';

const run = promisify(execFile);
const installed = await install({
  name: 'claude',
  from: 'npm',
  packages: ['@anthropic-ai/claude-code@2.1.197'],
});
const program =
  'missing' in installed
    ? undefined
    : join(
        installed.directory,
        `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
      );
/** A namespace in which this user may mount. */
const namespace = ['-r', '-m'];
const isPossible =
  program !== undefined &&
  (await run('unshare', [...namespace, 'true'])
    .then(
      () => run('tmux', ['-V']),
      () => undefined,
    )
    .catch(() => undefined)) !== undefined;

describe.skipIf(!isPossible)('Claude Code with /login', () => {
  // Shorter than the time before the end of a token at which the client renews it: it then renews before each request.
  const gateway = useGatewayWorld({
    SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
    SVC_TOOL_TOKEN_SECONDS: '60',
  });
  let idp: OidcIdp;
  let directory: string;
  let socket: string;

  const owner = (method: string, path: string, body?: object) =>
    gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
      key: gateway.org.ownerKey,
      ...(body !== undefined && { body }),
    });
  const tmux = async (...args: string[]) => (await run('tmux', ['-S', socket, ...args])).stdout;
  const screen = () => tmux('capture-pane', '-p', '-J', '-t', 'claude');
  const shows = (text: string | RegExp) => eventually(async () => expect(await screen()).toMatch(text));
  const type = async (text: string) => {
    await tmux('send-keys', '-t', 'claude', '-l', text);
    await shows(text);
    await tmux('send-keys', '-t', 'claude', 'Enter');
  };

  beforeAll(async () => {
    gateway.world.baseUrl = gateway.url;
    gateway.provider.toolOf = () => undefined;
    gateway.provider.outputOf = () => 5;
    const { slug } = (await owner('GET', '')).json;
    idp = await startOidcProvider(`${gateway.url}/sso/callback`, `${gateway.url}/sso/${slug}/callback`);
    idp.account = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' };
    const { issuer, clientId, clientSecret } = idp;
    await owner('PUT', '/sso', {
      issuer,
      client_id: clientId,
      client_secret: clientSecret,
      just_in_time: true,
      default_role: 'member',
    });
    directory = await mkdtemp(join(tmpdir(), 'purser-claude-'));
    socket = join(directory, 'tmux');
    const [home, work, etc] = [join(directory, 'home'), join(directory, 'work'), join(directory, 'etc')];
    await Promise.all([mkdir(home), mkdir(work), mkdir(join(etc, 'claude-code'), { recursive: true })]);
    for (const name of ['passwd', 'group', 'hosts', 'resolv.conf', 'nsswitch.conf', 'terminfo']) {
      await cp(join('/etc', name), join(etc, name), { recursive: true, dereference: true }).catch(
        () => undefined,
      );
    }
    await writeFile(
      join(etc, 'claude-code', 'managed-settings.json'),
      JSON.stringify({ forceLoginMethod: 'gateway', forceLoginGatewayUrl: `${gateway.url}/code/${slug}` }),
    );
    await writeFile(
      join(home, '.claude.json'),
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: 'dark',
        projects: { [work]: { hasTrustDialogAccepted: true } },
      }),
    );
    const script = join(directory, 'claude.sh');
    await writeFile(
      script,
      `mount --bind ${etc} /etc && cd ${work} && exec env -i PATH="$PATH" TERM=screen-256color HOME=${home} BROWSER=true \\
  CLAUDE_GATEWAY_ALLOW_LOOPBACK=1 DISABLE_AUTOUPDATER=1 ${program} --model claude-test\n`,
    );
    const command = `unshare ${namespace.join(' ')} bash ${script}`;
    await run('tmux', [
      '-S',
      socket,
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-s',
      'claude',
      '-x',
      '140',
      '-y',
      '50',
      command,
    ]);
  });
  afterAll(async () => {
    await tmux('kill-server').catch(() => undefined);
    await idp.close();
    await rm(directory, { recursive: true, force: true });
  });

  test('a person signs in with the provider of the company, gets an answer, and is asked again once the sign-in was ended', async () => {
    await shows('Run /login');
    await type('/login');
    await shows('Press Enter to connect');
    await tmux('send-keys', '-t', 'claude', 'Enter');
    await shows('Trust gateway');
    await tmux('send-keys', '-t', 'claude', '-l', '1');
    await shows(/[B-Z]{4}-[B-Z]{4}/);
    const [userCode = ''] = /[B-Z]{4}-[B-Z]{4}/.exec(await screen()) ?? [];
    const [verification = ''] = /http:\S+\/console\/device\/\S+/.exec(await screen()) ?? [];

    const browser = new Browser();
    const first = await browser.request(`${verification}?user_code=${userCode}`);
    const link = /href="(\/sso\/[^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&');
    const page = await browser.follow(`${gateway.url}${link}`);
    expect(page.text).toContain(userCode);
    await browser.request(verification, {
      form: { ...hiddenFields(page), decision: 'approve' },
      origin: gateway.url,
    });
    await shows('Connected to Cloud gateway');
    await tmux('send-keys', '-t', 'claude', 'Enter');

    // Keys that are typed before are lost.
    await shows('Login successful');
    await type('Say hello');
    await shows('tok0 tok1');
    const [signIn] = (await owner('GET', '/tool-sign-ins')).json.data;
    expect(signIn).toMatchObject({ member_name: 'Ada', status: 'active' });
    await eventually(async () =>
      expect(await gateway.runs()).toContainEqual(
        expect.objectContaining({ model: 'claude-test', member_id: signIn.member_id, status: 'succeeded' }),
      ),
    );
    const renewals = await gateway.world.db.query(
      'SELECT 1 AS one FROM tool_tokens WHERE used_at IS NOT NULL',
    );
    expect(renewals.length).toBeGreaterThan(0);

    await owner('DELETE', `/tool-sign-ins/${signIn.id}`);
    await type('Say it again');
    await shows('Please run /login');
  });
});
