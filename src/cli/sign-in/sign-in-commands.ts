/** `purser login`, `purser token` and `purser logout`: signs a person in, and prints a token for tools that take one from a command. */
import { setTimeout as pause } from 'node:timers/promises';
import { Command } from 'commander';
import { commandName } from '../command-name.ts';
import { print } from '../with-database.ts';
import { baseOf, renew, type SignInClock, signIn, signOut } from './oauth-client.ts';
import { readSignIns, type StoredSignIn, signInsFile, storeSignIn } from './stored-sign-ins.ts';

/** A printed token is valid for at least this time, so that a tool can use it. */
const lastsAtLeastMs = 120_000;

const machineClock: SignInClock = { nowMs: () => Date.now(), pause: (ms) => pause(ms) };

export interface SignInContext {
  readonly file: string;
  readonly clock: SignInClock;
  /** Writes a line for the person. */
  say(line: string): void;
}

const context = (): SignInContext => ({
  file: signInsFile(),
  clock: machineClock,
  say: (line) => void process.stderr.write(`${line}\n`),
});

export function loginCommand(): Command {
  return new Command('login')
    .description(
      'Sign in from this machine in a browser, for tools that get their token from `purser token`.',
    )
    .argument('<url>', 'address of the organization, such as https://purser.example.com/code/acme')
    .action((url: string) => login(context(), url));
}

export function tokenCommand(): Command {
  return new Command('token')
    .description('Print a token of the person who signed in with `purser login`, and renew it if necessary.')
    .argument('[url]', 'address of the organization (default: the only one)')
    .action(async (url?: string) => print(await freshToken(context(), url)));
}

export function logoutCommand(): Command {
  return new Command('logout')
    .description('End the sign-in of this machine and delete its tokens.')
    .argument('[url]', 'address of the organization (default: the only one)')
    .action((url?: string) => logout(context(), url));
}

export async function login({ file, clock, say }: SignInContext, url: string): Promise<void> {
  const base = baseOf(url);
  const signedIn = await signIn(base, clock, (code) => {
    say(`Open ${code.verification_uri_complete ?? code.verification_uri}`);
    say(`and approve the code ${code.user_code}. Waiting …`);
  });
  await storeSignIn(file, base, signedIn);
  say(`Signed in. \`${commandName()} token\` prints the token.`);
}

/** Returns a token that is valid for a while. Several processes may renew at once: the service gives them the same tokens. */
export async function freshToken({ file, clock }: SignInContext, url: string | undefined): Promise<string> {
  const [base, signedIn] = await chosen(file, url);
  if (signedIn.expires_at_ms - clock.nowMs() > lastsAtLeastMs) {
    return signedIn.access_token;
  }
  const renewed = await renew(signedIn, clock);
  if (renewed === undefined) {
    throw new Error(`The sign-in has ended. Run \`${commandName()} login ${base}\`.`);
  }
  await storeSignIn(file, base, renewed);
  return renewed.access_token;
}

export async function logout({ file, say }: SignInContext, url: string | undefined): Promise<void> {
  const [base, signedIn] = await chosen(file, url);
  try {
    await signOut(signedIn);
  } finally {
    await storeSignIn(file, base, undefined);
  }
  say(`Signed out of ${base}.`);
}

async function chosen(file: string, url: string | undefined): Promise<[string, StoredSignIn]> {
  const signIns = Object.entries(await readSignIns(file));
  const wanted = url === undefined ? signIns : signIns.filter(([base]) => base === baseOf(url));
  const [first, ...others] = wanted;
  if (first === undefined) {
    throw new Error(`Not signed in. Run \`${commandName()} login ${url ?? '<url>'}\`.`);
  }
  if (others.length > 0) {
    throw new Error(`Signed in at several addresses. Name one: ${signIns.map(([base]) => base).join(', ')}`);
  }
  return first;
}
