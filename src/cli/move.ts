/** `purser move`: moves an embedded installation to PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { version } from '../config/version.ts';
import {
  type MovedMarker,
  readMovedMarker,
  removeMovedMarker,
  writeMovedMarker,
} from '../platform/db/moved-marker.ts';
import { lockDirectory } from '../platform/db/pglite/directory-lock.ts';
import { printVerification } from './restore.ts';
import { showProgress } from './transfer-progress.ts';
import { withEmbeddedSource } from './transfer-source.ts';
import { loadIntoPostgres } from './transfer-target.ts';
import { print } from './with-database.ts';

export function moveCommand(): Command {
  return new Command('move')
    .description(
      'Move the embedded database with its open holds to an empty PostgreSQL database. Stop the service first. ' +
        'If the move is interrupted, run it again to continue. The data directory is not changed, only marked as moved.',
    )
    .option('--to <url>', 'the empty database, as postgres://…')
    .option('--undo', 'remove the mark, to use the data directory again as it was before the move')
    .action(move);
}

interface MoveOptions {
  readonly to?: string;
  readonly undo?: boolean;
}

async function move({ to, undo = false }: MoveOptions): Promise<void> {
  const { dataDir, databaseUrl } = loadConfig();
  if (undo === (to !== undefined)) {
    throw new Error('pass either --to postgres://… or --undo');
  }
  const lock = await lockDirectory(dataDir);
  try {
    if (to === undefined) {
      await undoMove(dataDir);
      return;
    }
    const target = parseTarget(to);
    if (databaseUrl !== undefined && databaseUrl !== to) {
      throw new Error('SVC_DATABASE_URL names another database than --to; unset it, or use the same URL');
    }
    await moveTo(dataDir, to, target);
  } finally {
    await lock.release();
  }
}

/** Returns the target without credentials, for messages and the marker file. */
function parseTarget(to: string): string {
  const url = URL.canParse(to) ? new URL(to) : undefined;
  if (url === undefined || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw new Error('--to must be a URL such as postgres://user:password@host:5432/database');
  }
  return `${url.host}${url.pathname}`;
}

async function moveTo(dataDir: string, url: string, to: string): Promise<void> {
  const continued = continuedMarker(dataDir, to);
  const marker = continued ?? {
    id: randomUUID(),
    state: 'moving',
    to,
    version,
    at: new Date().toISOString(),
  };
  let prepared = continued !== undefined;
  const verified = await withEmbeddedSource(dataDir, { id: marker.id }, async (source) => {
    await writeMovedMarker(dataDir, marker);
    const progress = showProgress('moving');
    return loadIntoPostgres(url, source, {
      onFrame: progress.onFrame,
      onPrepared() {
        prepared = true;
      },
      onVerifying() {
        progress.done();
        process.stderr.write('reconciling the ledger\n');
      },
    });
  }).catch(async (error: Error) => {
    if (!prepared) {
      // Nothing was moved yet, so the service may start again.
      await removeMovedMarker(dataDir);
      throw error;
    }
    throw new Error(
      `${error.message}\n        The data directory is unchanged. Run the command again to continue, or \`purser move --undo\` to give it up.`,
      { cause: error },
    );
  });
  await writeMovedMarker(dataDir, { ...marker, state: 'moved', at: new Date().toISOString() });
  if (verified.resumed) {
    print('continued   a move that was interrupted');
  }
  printVerification(verified);
  print(`moved       to ${to}`);
  print(
    'next        start the service with SVC_DATABASE_URL set to this database, and the same SVC_SECRETS_KEY',
  );
  print(
    `            or the same SVC_DATA_DIR, which has the key file. ${dataDir} can no longer be started without it.`,
  );
}

/** Returns the marker of an interrupted move. */
function continuedMarker(dataDir: string, to: string): MovedMarker | undefined {
  const marker = readMovedMarker(dataDir);
  if (marker === undefined) {
    return undefined;
  }
  if (marker.state === 'moved') {
    throw new Error(
      `${dataDir} was already moved to ${marker.to}. To move it again, run \`purser move --undo\` first.`,
    );
  }
  if (marker.to !== to) {
    throw new Error(
      `a move to ${marker.to} was interrupted: continue it, or give it up with \`purser move --undo\``,
    );
  }
  if (marker.version !== version) {
    throw new Error(
      `the move was started by version ${marker.version}: continue with that version, or give it up with \`purser move --undo\``,
    );
  }
  return marker;
}

async function undoMove(dataDir: string): Promise<void> {
  const marker = readMovedMarker(dataDir);
  if (marker === undefined) {
    throw new Error(`${dataDir} is not marked as moved`);
  }
  await removeMovedMarker(dataDir);
  print(`undone      ${dataDir} can be started again; it has the data from before the move`);
  print(`            Do not use the copy in ${marker.to} any more: both would be written to.`);
}
