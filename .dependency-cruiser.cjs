/**
 * The direction of imports: main → commands → service → app → capabilities | console → platform → contract.
 * `kernel` imports nothing outside itself. Capabilities meet only through each other's index.ts.
 */
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid('no-circles', 'Nothing depends on itself.', {}, { circular: true }),
    forbid(
      'contract-stands-alone',
      'The frozen promise knows nothing of its implementation.',
      { path: '^src/contract/' },
      {
        path: '^src/',
        pathNot: '^src/contract/',
      },
    ),
    forbid(
      'kernel-is-pure',
      'The kernel imports nothing outside itself, but for the calendar, which is as pure.',
      { path: '^src/kernel/', pathNot: '\\.test\\.ts$' },
      {
        pathNot: '^src/kernel/|^node_modules/temporal-polyfill/',
      },
    ),
    forbid(
      'platform-knows-no-capability',
      'The platform serves capabilities and does not know them.',
      { path: '^src/platform/' },
      { path: '^src/', pathNot: '^src/(platform|contract|kernel)/' },
    ),
    forbid(
      'capabilities-stand-on-the-platform',
      'A capability knows the platform, the contract and the kernel; not how it is wired.',
      { path: '^src/capabilities/' },
      { path: '^src/', pathNot: '^src/(capabilities|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'the-console-is-a-client',
      'The console asks the API like everybody else; it knows no capability.',
      { path: '^src/console/' },
      { path: '^src/', pathNot: '^src/(console|platform|contract|kernel)/|^test/' },
    ),
    forbid(
      'capabilities-meet-through-index',
      'What another capability may call is in its index.ts.',
      { path: '^src/capabilities/([^/]+)/' },
      { path: '^src/capabilities/[^/]+/', pathNot: '^src/capabilities/($1/|[^/]+/index\\.ts$)' },
    ),
    forbid(
      'app-is-imported-from-above',
      'Only the service wires the app.',
      { path: '^src/', pathNot: '^src/service\\.ts$' },
      {
        path: '^src/app\\.ts$',
      },
    ),
    forbid('only-main-runs', 'Nobody imports the entry point.', {}, { path: '^src/main\\.ts$' }),
    forbid(
      'tests-stay-outside',
      'The product never imports a test.',
      { path: '^src/', pathNot: '\\.test\\.ts$' },
      {
        path: '^test/|\\.test\\.ts$',
      },
    ),
    forbid(
      'declared-dependencies',
      'What is imported is declared.',
      {},
      {
        dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'],
      },
    ),
    forbid(
      'no-development-dependencies',
      'The product runs without them.',
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
