import { createPublicKey } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { checkExport, type TrustedKey } from '../capabilities/compliance/audit/index.ts';
import { print } from './with-database.ts';

export function auditCommand(): Command {
  const verify = new Command('verify')
    .description('Verify an NDJSON export of an audit log without the service. `-` reads standard input.')
    .argument('<file>')
    .option(
      '--public-key <file>',
      'public keys of the service: the response of /v1/meta/audit-signing-key, or a PEM file; repeatable',
      (file: string, others: readonly string[] = []) => [...others, file],
    )
    .option('--checkpoint <token...>', 'checkpoints that you have kept, separated by spaces')
    .action(verifyFile);
  return new Command('audit').description('Work with exports of audit logs.').addCommand(verify);
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
  // Reports an unreadable file. Without it, the lines would just end.
  const failed = new Promise<never>((_, reject) => input.once('error', reject));
  // Created last, because lines that are read before a consumer waits for them are lost.
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
      ? 'valid: no entries'
      : `valid: ${entries} entries, ${firstSeq} to ${lastSeq}; ${checkpoints} checkpoints agree`,
  );
  for (const remark of remarks) {
    print(remark);
  }
}

/**
 * Reads the keys of a PEM file. It does not contain when a key was retired, so its keys are trusted without an end, unless another
 * file has one.
 */
async function readPublicKeys(file: string): Promise<TrustedKey[]> {
  const text = await readFile(file, 'utf8');
  try {
    const keys = publicKeysIn(text);
    for (const { pem } of keys) {
      createPublicKey(pem);
    }
    return keys;
  } catch {
    throw new Error(
      `${file} contains no public keys. Save the response of GET /v1/meta/audit-signing-key and use that file.`,
    );
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

/**
 * Response of `GET /v1/meta/audit-signing-key`. `previous` is missing in responses of releases that could not replace
 * keys.
 */
interface SigningKeys {
  readonly public_key: string;
  readonly previous?: readonly { readonly public_key: string; readonly retired_at: string }[];
}
