import { createPublicKey } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { checkExport, type TrustedKey } from '../capabilities/compliance/audit/index.ts';
import { print } from './with-database.ts';

export function auditCommand(): Command {
  const verify = new Command('verify')
    .description(
      'Verify an export of an audit log (NDJSON) without the service. `-` reads the standard input.',
    )
    .argument('<file>')
    .option(
      '--public-key <file>',
      'public keys of the service: the answer of /v1/meta/audit-signing-key, or a PEM; may be given again',
      (file: string, others: readonly string[] = []) => [...others, file],
    )
    .option('--checkpoint <token...>', 'a checkpoint that you have kept; several with blanks between them')
    .action(verifyFile);
  return new Command('audit').description('Look at exports of audit logs.').addCommand(verify);
}

interface VerifyOptions {
  readonly publicKey?: readonly string[];
  readonly checkpoint?: string[];
}

async function verifyFile(file: string, { publicKey = [], checkpoint }: VerifyOptions): Promise<void> {
  const options = {
    publicKeys: (await Promise.all(publicKey.map(readPublicKeys))).flat(),
    ...(checkpoint !== undefined && { kept: checkpoint }),
  };
  const input = file === '-' ? process.stdin : createReadStream(file);
  // A file that cannot be read fails here: the lines would just end.
  const failed = new Promise<never>((_, reject) => input.once('error', reject));
  // Read from now on, and not before: lines that nobody waits for are lost.
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const report = await Promise.race([failed, checkExport(lines, options)]);
  if (report.findings.length > 0) {
    const found = report.findings.map(({ kind, seq, until_seq, message }) => {
      const place = seq === until_seq ? `entry ${seq}` : `entries ${seq} to ${until_seq}`;
      return `${kind}, ${place}: ${message}`;
    });
    throw new Error(`not valid\n        ${found.join('\n        ')}`);
  }
  const { entries, firstSeq, lastSeq, checkpoints, remarks } = report;
  print(
    entries === 0
      ? 'valid: there are no entries in it'
      : `valid: ${entries} entries, ${firstSeq} to ${lastSeq}; ${checkpoints} checkpoints agree`,
  );
  for (const remark of remarks) {
    print(remark);
  }
}

/** A PEM says nothing of when its key was replaced: it is trusted for good, unless another file given says more. */
async function readPublicKeys(file: string): Promise<TrustedKey[]> {
  const text = await readFile(file, 'utf8');
  try {
    const keys = publicKeysIn(text);
    for (const { pem } of keys) {
      createPublicKey(pem);
    }
    return keys;
  } catch {
    throw new Error(`${file} holds no public keys: save what GET /v1/meta/audit-signing-key answers`);
  }
}

function publicKeysIn(text: string): TrustedKey[] {
  if (!text.trimStart().startsWith('{')) {
    return [{ pem: text, retiredAt: null }];
  }
  const { public_key, previous = [] } = JSON.parse(text) as SigningKeys;
  return [
    { pem: String(public_key), retiredAt: null },
    ...previous.map((key) => ({ pem: key.public_key, retiredAt: new Date(key.retired_at) })),
  ];
}

/** An answer that was kept from before keys could be replaced has no others. */
interface SigningKeys {
  readonly public_key: string;
  readonly previous?: readonly { readonly public_key: string; readonly retired_at: string }[];
}
