/**
 * Preloaded into the service: records what a power cut would leave of its data directory. The record contains the bytes of a
 * file as of its last fsync, and the names in a directory as of its last fsync, as POSIX guarantees and no more. Everything
 * that exists when the process starts counts as synced.
 *
 * Worker threads load this file too. They share the record through the file system: each inode is synced by one thread.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const root = String(process.env.RECORD_DATA_DIR);
const record = String(process.env.RECORD_DIR);
const real = { ...fs };

/** @param {fs.BigIntStats} stat */
const idOf = ({ ino, birthtimeNs }) => `${ino}-${birthtimeNs}`;
/** @param {number} fd */
const statOf = (fd) => real.fstatSync(fd, { bigint: true });
/** @param {string} id */
const contentPath = (id) => join(record, 'contents', id);

/** Ranges written since the last sync, by inode; 'all': unknown. @type {Map<string, 'all' | [number, number][]>} */
const dirty = new Map();

/** @param {string} directory */
function syncNames(directory) {
  const entries = real.readdirSync(directory).flatMap((name) => {
    const stat = real.lstatSync(join(directory, name), { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? [] : [[name, idOf(stat), stat.isDirectory()]];
  });
  const id = idOf(real.statSync(directory, { bigint: true }));
  const draft = join(record, `names-${id}-${process.pid}-${isMainThread}`);
  real.writeFileSync(draft, JSON.stringify(entries));
  real.renameSync(draft, join(record, 'names', id));
}

/** @param {string} path @param {string} id */
function recordWhole(path, id) {
  real.copyFileSync(path, contentPath(id));
}

/** Returns a function that adds to the record what a sync that starts now covers. @param {number} fd */
function syncedBy(fd) {
  const stat = statOf(fd);
  const path = real.readlinkSync(`/proc/self/fd/${fd}`);
  if (!path.startsWith(root)) {
    return () => undefined;
  }
  if (stat.isDirectory()) {
    return () => syncNames(path);
  }
  const id = idOf(stat);
  const ranges = dirty.get(id) ?? [];
  dirty.delete(id);
  if (ranges === 'all' || !real.existsSync(contentPath(id))) {
    return () => recordWhole(path, id);
  }
  const reading = real.openSync(path, 'r');
  const parts = ranges.map(([start, end]) => {
    const bytes = Buffer.alloc(end - start);
    real.readSync(reading, bytes, 0, bytes.length, start);
    return { start, bytes };
  });
  real.closeSync(reading);
  return () => {
    const writing = real.openSync(contentPath(id), 'r+');
    for (const { start, bytes } of parts) {
      real.writeSync(writing, bytes, 0, bytes.length, start);
    }
    real.ftruncateSync(writing, Number(stat.size));
    real.closeSync(writing);
  };
}

/** @param {number} fd */
const markAll = (fd) => void dirty.set(idOf(statOf(fd)), 'all');

/** @param {any[]} args */
function writeSync(...args) {
  const [fd, , , , position] = args;
  const written = Reflect.apply(real.writeSync, fs, args);
  const stat = statOf(fd);
  const ranges = dirty.get(idOf(stat)) ?? [];
  if (stat.isFile() && ranges !== 'all') {
    const start = typeof position === 'number' ? position : Number(stat.size) - written;
    dirty.set(idOf(stat), [...ranges, [start, start + written]]);
  }
  return written;
}

/** @param {'fsyncSync' | 'fdatasyncSync'} name */
const recordedSync = (name) => (/** @type {number} */ fd) => {
  const done = syncedBy(fd);
  real[name](fd);
  done();
};
/** @param {'fsync' | 'fdatasync'} name */
const recordedAsync = (name) => (/** @type {number} */ fd, /** @type {fs.NoParamCallback} */ callback) => {
  const done = syncedBy(fd);
  real[name](fd, (error) => {
    if (error === null) {
      done();
    }
    callback(error);
  });
};

Object.assign(fs, {
  writeSync,
  ftruncateSync(/** @type {number} */ fd, /** @type {number} */ length) {
    real.ftruncateSync(fd, length);
    markAll(fd);
  },
  truncateSync(/** @type {string} */ path, /** @type {number} */ length) {
    real.truncateSync(path, length);
    dirty.set(idOf(real.statSync(path, { bigint: true })), 'all');
  },
  fsyncSync: recordedSync('fsyncSync'),
  fdatasyncSync: recordedSync('fdatasyncSync'),
  fsync: recordedAsync('fsync'),
  fdatasync: recordedAsync('fdatasync'),
});

// Writes through a handle are not tracked, so its sync records the whole file.
const handle = await real.promises.open('/dev/null');
const prototype = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['sync', 'datasync']) {
  const synced = prototype[name];
  prototype[name] = async function () {
    if (statOf(this.fd).isFile()) {
      markAll(this.fd);
    }
    const done = syncedBy(this.fd);
    await Reflect.apply(synced, this, []);
    done();
  };
}
syncBuiltinESMExports();

/** @param {string} directory */
function recordTree(directory) {
  syncNames(directory);
  for (const entry of real.readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      recordTree(path);
    } else {
      recordWhole(path, idOf(real.statSync(path, { bigint: true })));
    }
  }
}

if (isMainThread) {
  real.mkdirSync(join(record, 'contents'), { recursive: true });
  real.mkdirSync(join(record, 'names'));
  recordTree(root);
}
