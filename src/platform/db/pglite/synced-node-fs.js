// @ts-check
/**
 * PGlite's file system on a directory, with a working fsync. As shipped it has no such operation: a commit is a write into the
 * page cache, which a power cut loses.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/**
 * The parts of emscripten's file system that are used here.
 * @typedef {{ mode: number }} Node
 * @typedef {{ node: Node, nfd: number }} Stream
 * @typedef {(parent: Node, name: string, mode: number, dev: number) => Node} CreateNode
 * @typedef {{
 *   node_ops: { mknod: CreateNode },
 *   stream_ops: { fsync?: (stream: Stream) => number },
 *   realPath(node: Node): string,
 *   tryFSOperation(work: () => void): void,
 * }} NodeFsOperations
 * @typedef {{ NODEFS: NodeFsOperations, FS: { isDir(mode: number): boolean } }} EngineModule
 */

export class SyncedNodeFS extends NodeFS {
  /**
   * @override
   * @param {Parameters<NodeFS['init']>[0]} pg
   * @param {Parameters<NodeFS['init']>[1]} options
   */
  async init(pg, options) {
    const { emscriptenOpts } = await super.init(pg, options);
    const addSync = (/** @type {unknown} */ module) => addSyncOperation(/** @type {EngineModule} */ (module));
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), addSync] } };
  }
}

/** @param {EngineModule} module */
function addSyncOperation({ NODEFS, FS }) {
  /** New files whose name may not be on disk yet: PostgreSQL does not sync the directory of a new table. @type {WeakSet<Node>} */
  const unnamed = new WeakSet();
  const { mknod } = NODEFS.node_ops;
  NODEFS.node_ops.mknod = (parent, name, mode, dev) => {
    const node = mknod(parent, name, mode, dev);
    if (!FS.isDir(mode)) {
      unnamed.add(node);
    }
    return node;
  };
  NODEFS.stream_ops.fsync = ({ node, nfd }) => {
    NODEFS.tryFSOperation(() => {
      if (FS.isDir(node.mode)) {
        fsyncSync(nfd);
        return;
      }
      fdatasyncSync(nfd);
      if (unnamed.delete(node)) {
        syncDirectoryOf(NODEFS.realPath(node));
      }
    });
    return 0;
  };
}

/** Like `syncDirectory` of `durable-files.ts`, which a worker cannot import from `src`. @param {string} path */
function syncDirectoryOf(path) {
  const descriptor = openSync(dirname(path), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
