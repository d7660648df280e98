/** `purser apply`: shows how organizations differ from configuration files, and changes them. */
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import type {
  AppliedConfiguration,
  ConfigurationPlan,
} from '../../capabilities/integration/configuration/index.ts';
import type { FieldError } from '../../contract/errors.ts';
import { counted } from '../../platform/counted.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { ApiRequestError } from '../running-service.ts';
import { terminalText } from '../terminal-text.ts';
import { print } from '../with-database.ts';
import { type ConfigurationDocument, InvalidConfiguration, readDocuments } from './documents.ts';
import { planText } from './plan-text.ts';
import {
  isKept,
  type PendingRequest,
  pendingRequests,
  removePending,
  type SecretFile,
  storePending,
  writeSecrets,
} from './secret-files.ts';
import {
  type ApplyFlags,
  type ConfigurationService,
  findOrg,
  openConfigurationService,
  type ServiceFlags,
} from './service.ts';

/** Exit code of `--dry-run` if there are changes to apply. */
const pendingExitCode = 2;
const defaultSecretsDir = 'purser-secrets';

export function applyCommand(): Command {
  return new Command('apply')
    .description('Show how organizations differ from configuration files, and change them.')
    .requiredOption(
      '-f, --file <file>',
      'YAML or JSON file, or - for standard input; repeatable. A file may have several documents, one for each organization',
      (file: string, others: readonly string[] = []) => [...others, file],
    )
    .option('--dry-run', 'only show the changes')
    .option('--prune', 'delete what the file does not list, in the sections that it has')
    .option(
      '--force',
      "also delete limits with open holds, and accept an IP allow-list without this machine's address",
    )
    .option(
      '--secrets-dir <directory>',
      `where the secrets of new keys, webhooks and invitations are written (default: ${defaultSecretsDir})`,
    )
    .option('--json', 'print the result as JSON')
    .option('--org <id>', 'organization of a document without org.slug (default: the only one)')
    .option('--key-env <name>', 'variable with a key of the organization --org (default: the operator key)')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .addHelpText(
      'after',
      `
Each organization is changed in one transaction: all changes, or none. A file with an error changes nothing. Only the changes that
were shown are applied: if an organization has changed in the meantime, the command fails.
Temporary raises of limits are not configuration: they stay as they are, and end by themselves.
A command that is killed before it has written its secrets is completed by the next one with the same --secrets-dir.

Exit codes: 0 applied or no change, 1 failed, 2 changes to apply (--dry-run).`,
    )
    .action(apply);
}

interface ApplyCommandOptions extends ServiceFlags, ApplyFlags {
  readonly file: readonly string[];
  readonly dryRun?: true;
  readonly secretsDir?: string;
  readonly json?: true;
}

interface NamedDocument extends ConfigurationDocument {
  /** Slug of the organization; its id, if the file does not name it. */
  readonly org: string;
}

/** A document with its plan, or with the result of its application. */
interface ConfigurationResult<Changes> {
  readonly document: NamedDocument;
  readonly changes: Changes;
  readonly secretFiles: readonly SecretFile[];
}

async function apply({
  file,
  dryRun,
  json,
  secretsDir = defaultSecretsDir,
  ...options
}: ApplyCommandOptions) {
  const read = await readDocuments(file);
  for (const warning of read.flatMap(({ warnings }) => warnings)) {
    process.stderr.write(`${warning}\n`);
  }
  const service = await openConfigurationService(options);
  const documents = await nameOrgs(service, read, options.org);
  if (dryRun !== true) {
    await completePending(service, secretsDir);
  }
  const plans = await planAll(service, documents, options);
  if (json !== true) {
    show(plans);
  }
  const isChanged = plans.some(({ changes }) => changes.changes.length > 0);
  if (dryRun === true || !isChanged) {
    process.exitCode = dryRun === true && isChanged ? pendingExitCode : 0;
    printJson(json, plans, false);
    return;
  }
  const applied: ConfigurationResult<AppliedConfiguration>[] = [];
  try {
    for (const plan of plans) {
      applied.push(await applyOne(service, plan, options, secretsDir));
      const { document, changes, secretFiles } = applied.at(-1) as ConfigurationResult<AppliedConfiguration>;
      if (json !== true) {
        showApplied(document, changes, secretFiles);
      }
    }
  } finally {
    // Documents before a failed one stay applied, so their results are printed.
    if (applied.length > 0) {
      printJson(json, applied, true);
    }
  }
}

/** Returns the documents with the name of their organization. For an operator, adds the slug to a document without one. */
async function nameOrgs(
  service: ConfigurationService,
  documents: readonly ConfigurationDocument[],
  org: string | undefined,
): Promise<NamedDocument[]> {
  const named: NamedDocument[] = [];
  for (const document of documents) {
    const { configuration } = document;
    const slug = configuration.org?.slug;
    // The service reports a value of a wrong type, with its position.
    if (slug !== undefined || !service.isOperator || !isObject(configuration.org ?? {})) {
      named.push({ ...document, org: String(slug ?? org ?? document.source) });
      continue;
    }
    const found = await findOrg(service, org);
    const withSlug = { ...configuration, org: { ...configuration.org, slug: found.slug } };
    named.push({ ...document, configuration: withSlug, org: found.slug });
  }
  const twice = named.filter(
    (one, index) => named.findIndex(({ org: other }) => other === one.org) !== index,
  );
  if (twice.length > 0) {
    throw new InvalidConfiguration(
      twice.map(
        (document) =>
          `${document.placeOf('org.slug')} another document has the organization ${document.org} too`,
      ),
    );
  }
  return named;
}

function isObject(value: unknown): boolean {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Plans all documents, so that nothing is applied if one of them has an error. */
async function planAll(
  service: ConfigurationService,
  documents: readonly NamedDocument[],
  flags: ApplyFlags,
): Promise<ConfigurationResult<ConfigurationPlan>[]> {
  const plans: ConfigurationResult<ConfigurationPlan>[] = [];
  const problems: string[] = [];
  for (const document of documents) {
    try {
      const changes = await service.plan(document.configuration, flags);
      plans.push({ document, changes, secretFiles: [] });
    } catch (error) {
      problems.push(...problemsOf(error, document));
    }
  }
  if (problems.length > 0) {
    throw new InvalidConfiguration([...problems, 'nothing was changed']);
  }
  return plans;
}

/** Returns the problems of a document, each with its position in the file. */
function problemsOf(error: unknown, { source, placeOf, offsetOf }: ConfigurationDocument): string[] {
  if (!(error instanceof ApiRequestError)) {
    throw error;
  }
  const { message = error.message, details = {} } = error.error;
  const { fields } = details as { fields?: readonly FieldError[] };
  if (fields === undefined) {
    // Matches messages such as `webhooks[3] "https://…": The limit is reached.`
    const [, path] = /^([a-z_]+(?:\[\d+\])?)[ :]/.exec(message) ?? [];
    return [`${path === undefined ? source : placeOf(path)} ${terminalText(message)}`];
  }
  return [...fields]
    .sort((a, b) => offsetOf(a.field) - offsetOf(b.field))
    .map((one) => `${placeOf(one.field)} ${terminalText(`${one.field}: ${one.message}`)}`);
}

function show(plans: readonly ConfigurationResult<ConfigurationPlan>[]): void {
  for (const { document, changes } of plans) {
    print(`${document.org}:\n${planText(changes).replaceAll(/^/gm, '  ')}`);
  }
}

/** Sections whose new resources have a secret. */
const sectionsWithSecrets = new Set(['keys', 'webhooks', 'members']);

function createsSecrets({ changes }: ConfigurationPlan): boolean {
  return changes.some(({ action, section }) => action === 'create' && sectionsWithSecrets.has(section));
}

async function applyOne(
  service: ConfigurationService,
  { document, changes: plan }: ConfigurationResult<ConfigurationPlan>,
  flags: ApplyFlags,
  secretsDir: string,
): Promise<ConfigurationResult<AppliedConfiguration>> {
  const request: PendingRequest = {
    url: service.url,
    sender: service.sender,
    path: service.applyPath(flags, plan.plan_digest),
    body: document.configuration,
    org: document.org,
    idempotencyKey: randomUUID(),
    sentAt: systemClock.now().toISOString(),
  };
  const pending = createsSecrets(plan) ? storePending(secretsDir, request) : undefined;
  try {
    const { changes, secretFiles } = await sendRequest(service, request, secretsDir);
    if (pending !== undefined) {
      removePending(pending);
    }
    return { document, changes, secretFiles };
  } catch (error) {
    if (isRejection(error) && pending !== undefined) {
      removePending(pending);
    }
    throw error instanceof ApiRequestError ? new InvalidConfiguration(problemsOf(error, document)) : error;
  }
}

/** Error codes that prove that the request was not applied and will not be. */
const rejections = new Set<string | undefined>([
  'bad_request',
  'conflict',
  'forbidden',
  'idempotency_key_conflict',
  'missing_scope',
  'not_found',
  'payload_too_large',
  'validation_failed',
]);

function isRejection(error: unknown): error is ApiRequestError {
  return error instanceof ApiRequestError && rejections.has(error.error.code);
}

async function sendRequest(service: ConfigurationService, request: PendingRequest, secretsDir: string) {
  const changes = await service.apply(request.path, request.body, request.idempotencyKey);
  return { changes, secretFiles: writeSecrets(secretsDir, request.org, changes.secrets) };
}

/** Completes applications that an earlier command did not finish: sends the request again and saves the secrets in the response. */
async function completePending(service: ConfigurationService, secretsDir: string): Promise<void> {
  for (const { file, request } of pendingRequests(secretsDir, service.url)) {
    const about = `application of ${request.sentAt} (${request.org})`;
    if (!isKept(request, systemClock.now())) {
      process.stderr.write(`an ${about} was interrupted, and its secrets are lost: rotate its new keys\n`);
      removePending(file);
    } else if (request.sender !== service.sender) {
      process.stderr.write(
        `an ${about} was interrupted: apply with the key that sent it to get its secrets\n`,
      );
    } else {
      process.stderr.write(`completing the interrupted ${about}\n`);
      await completeOne(service, request, secretsDir);
      removePending(file);
    }
  }
}

async function completeOne(service: ConfigurationService, request: PendingRequest, secretsDir: string) {
  try {
    const { secretFiles } = await sendRequest(service, request, secretsDir);
    showSecretFiles(secretFiles);
  } catch (error) {
    if (!isRejection(error)) {
      throw error;
    }
    process.stderr.write(`it was not applied: ${terminalText(error.message)}\n`);
  }
}

function showApplied(
  document: NamedDocument,
  { changes }: AppliedConfiguration,
  secretFiles: readonly SecretFile[],
): void {
  if (changes.length > 0) {
    print(`${document.org}: applied ${counted(changes.length, 'change', 'changes')}`);
  }
  showSecretFiles(secretFiles);
}

function showSecretFiles(secretFiles: readonly SecretFile[]): void {
  for (const { section, name, file } of secretFiles) {
    process.stderr.write(`secret of ${section} "${terminalText(name)}": ${file}\n`);
  }
}

function printJson(
  json: true | undefined,
  results: readonly ConfigurationResult<ConfigurationPlan | AppliedConfiguration>[],
  applied: boolean,
): void {
  if (json !== true) {
    return;
  }
  const documents = results.map(({ document, changes: { ...shown }, secretFiles }) => {
    const { secrets: _, ...rest } = shown as Partial<AppliedConfiguration>;
    return { file: document.source, org: document.org, ...rest, secret_files: secretFiles };
  });
  print(JSON.stringify({ applied, documents }, null, 2));
}
