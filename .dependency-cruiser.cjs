/**
 * The direction of imports:
 *
 *   main → cli → server → gateway → capabilities, console, docs, edge → ledger → platform → contract, kernel, config
 *                         gateway → growing-holds → kernel
 *
 * `contract` imports nothing outside itself, `kernel` only the declaration of the dimensions in it. Capabilities import each other only through index.ts. That
 * folders do not import each other in a circle is checked by scripts/check-layout.ts.
 */
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid('no-circles', 'No file imports itself, directly or through others.', {}, { circular: true }),
    forbid(
      'contract-stands-alone',
      'The contract imports nothing of its implementation.',
      { path: '^src/contract/' },
      {
        path: '^src/',
        pathNot: '^src/contract/',
      },
    ),
    forbid(
      'kernel-is-pure',
      'The kernel imports nothing outside itself, except the dimensions of runs and a pure calendar library.',
      { path: '^src/kernel/', pathNot: '\\.test\\.ts$' },
      {
        pathNot: '^src/kernel/|^src/contract/run-dimensions\\.ts$|^node_modules/temporal-polyfill/',
      },
    ),
    forbid(
      'growing-holds-stand-on-the-kernel',
      'Growing holds run in the gateway and in the client, so they import the kernel alone.',
      { path: '^src/growing-holds/', pathNot: '\\.test\\.ts$' },
      { pathNot: '^src/(growing-holds|kernel)/' },
    ),
    forbid(
      'client-shares-the-kernel',
      'The client is a package of its own: of the service it bundles pure rules and growing holds alone, and it has no dependencies.',
      { path: '^packages/', pathNot: '\\.test\\.ts$' },
      { pathNot: '^packages/|^src/(kernel|growing-holds)/|^(node:)?(async_hooks|crypto|fs/promises|path)$' },
    ),
    forbid(
      'platform-knows-no-capability',
      'The platform serves the ledger and the capabilities, and imports neither.',
      { path: '^src/platform/' },
      { path: '^src/', pathNot: '^src/(platform|contract|kernel)/' },
    ),
    forbid(
      'ledger-knows-no-capability',
      'The ledger stands on the platform, and imports no capability.',
      { path: '^src/ledger/' },
      { path: '^src/', pathNot: '^src/(ledger|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'capabilities-know-no-wiring',
      'A capability imports the ledger, the platform, the contract and the kernel; not the server.',
      { path: '^src/capabilities/' },
      { path: '^src/', pathNot: '^src/(capabilities|ledger|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'edge-knows-no-capability',
      'The decision endpoint imports no capability.',
      { path: '^src/edge/' },
      { path: '^src/', pathNot: '^src/(edge|ledger|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'gateway-is-a-client-of-capabilities',
      'The gateway imports capabilities through their index.ts, and neither the server, the console nor the edge.',
      { path: '^src/gateway/' },
      {
        path: '^src/',
        pathNot:
          '^src/(gateway|growing-holds|ledger|platform|contract|kernel)/|^src/capabilities/[^/]+/[^/]+/index\\.ts$|^test/',
      },
    ),
    forbid(
      'console-is-a-client',
      'The console calls the API like any other client, with the types of `packages/client`, and imports no capability.',
      { path: '^src/console/' },
      { path: '^src/', pathNot: '^src/(console|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'docs-render-what-they-are-given',
      'The documentation is rendered from the contract and from documents, and imports no capability.',
      { path: '^src/docs/' },
      { path: '^src/', pathNot: '^src/(docs|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'capabilities-meet-through-index',
      'Other capabilities may import only the index.ts of a capability.',
      { path: '^src/capabilities/([^/]+/[^/]+)/' },
      { path: '^src/capabilities/', pathNot: '^src/capabilities/($1/|[^/]+/[^/]+/index\\.ts$)' },
    ),
    forbid(
      'server-is-imported-from-above',
      'Only the command line and the entry point import the server.',
      { path: '^src/', pathNot: '^src/(main\\.ts|cli/|server/)' },
      { path: '^src/server/' },
    ),
    forbid('only-main-runs', 'No file imports the entry point.', {}, { path: '^src/main\\.ts$' }),
    forbid(
      'tests-stay-outside',
      'Only tests import tests.',
      { path: '^src/', pathNot: '\\.test\\.ts$' },
      {
        path: '^test/|\\.test\\.ts$',
      },
    ),
    forbid(
      'declared-dependencies',
      'Every import is a declared dependency.',
      {},
      {
        dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
      },
    ),
    forbid(
      'no-development-dependencies',
      'The product runs without development dependencies.',
      { path: '^src/', pathNot: '\\.test\\.ts$' },
      {
        dependencyTypes: ['npm-dev'],
      },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
