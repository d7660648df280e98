/** The sign-ins of this user, in a file that only the user can read. */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

export interface StoredSignIn {
  readonly token_endpoint: string;
  readonly revocation_endpoint: string | null;
  readonly access_token: string;
  readonly refresh_token: string | null;
  /** Unix time in milliseconds. */
  readonly expires_at_ms: number;
}

/** Sign-ins by the base address. */
export type StoredSignIns = Readonly<Record<string, StoredSignIn>>;

const ownerOnly = { file: 0o600, directory: 0o700 };

/** Returns the path of the file. */
export function signInsFile(environment: NodeJS.ProcessEnv = process.env): string {
  const directory = environment.XDG_CONFIG_HOME || join(homedir(), '.config');
  return environment.PURSER_SIGN_INS_FILE || join(directory, 'purser', 'sign-ins.json');
}

export async function readSignIns(file: string): Promise<StoredSignIns> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return {};
    }
    throw error;
  }
  try {
    return JSON.parse(text) as StoredSignIns;
  } catch {
    throw new Error(`${file} is damaged. Delete it and sign in again.`);
  }
}

/** Stores a sign-in, or removes it if undefined. Others are kept. The file is replaced as a whole, so readers never see a part. */
export async function storeSignIn(
  file: string,
  base: string,
  signIn: StoredSignIn | undefined,
): Promise<void> {
  const { [base]: _, ...others } = await readSignIns(file);
  const next = signIn === undefined ? others : { ...others, [base]: signIn };
  await mkdir(dirname(file), { recursive: true, mode: ownerOnly.directory });
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, `${JSON.stringify(next, null, 2)}\n`, { mode: ownerOnly.file });
  await chmod(temporary, ownerOnly.file);
  await rename(temporary, file);
}
