/** `purser export`: writes the configuration of organizations to a file that `purser apply` reads. */
import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { Document, isMap, isScalar, isSeq, visit } from 'yaml';
import { print } from '../with-database.ts';
import {
  type ConfigurationService,
  findOrg,
  openConfigurationService,
  type ServiceFlags,
} from './service.ts';

export function exportCommand(): Command {
  return new Command('export')
    .description('Write the configuration of an organization as YAML, without secrets.')
    .option('--org <id>', 'id or slug of the organization (default: the only one)')
    .option('--all', 'all organizations, one document for each')
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .option('--key-env <name>', 'variable with a key of the organization --org (default: the operator key)')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(exportConfiguration);
}

interface ExportOptions extends ServiceFlags {
  readonly all?: true;
  readonly output?: string;
}

async function exportConfiguration({ all, output, ...options }: ExportOptions): Promise<void> {
  const service = await openConfigurationService(options);
  const orgIds = all === true ? (await service.orgs()).map(({ id }) => id) : [await idOf(service, options)];
  const documents: string[] = [];
  for (const orgId of orgIds) {
    documents.push(await documentOf(service, orgId));
  }
  const text = `# yaml-language-server: $schema=${service.url}/docs/purser.schema.json\n# Secrets are not exported: those that are stored stay.\n${documents.join('---\n')}`;
  if (output === undefined) {
    print(text.trimEnd());
  } else {
    // Private, because the URL of a webhook may be a secret, such as that of a Slack channel.
    await writeFile(output, text, { mode: 0o600 });
  }
}

async function idOf(service: ConfigurationService, { org }: ServiceFlags): Promise<string> {
  return service.isOperator ? (await findOrg(service, org)).id : (org ?? '');
}

async function documentOf(service: ConfigurationService, orgId: string): Promise<string> {
  const { configuration, omitted } = await service.export(orgId);
  for (const { section, required } of omitted) {
    process.stderr.write(`${section} is left out: ${required}\n`);
  }
  return yamlText(configuration);
}

/** Maximum length of a list that is written in one line. */
const lineLengthMax = 80;

function yamlText(configuration: object): string {
  const document = new Document(configuration);
  visit(document, {
    Seq(_, list) {
      list.flow = list.items.every(isScalar) && JSON.stringify(list.toJS(document)).length <= lineLengthMax;
    },
  });
  for (const { key, value } of isMap(document.contents) ? document.contents.items : []) {
    if (isScalar(key) && (isMap(value) || isSeq(value))) {
      key.spaceBefore = true;
    }
  }
  return document.toString({ lineWidth: 0 });
}
