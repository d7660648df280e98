/** `purser prices update`: converts a public price list, and updates the prices of the service with it. */
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError, Option } from 'commander';
import { catalogFile } from '../capabilities/spend/models/index.ts';
import {
  InvalidPriceList,
  type PriceList,
  type PriceListFormat,
  type PriceListOptions,
  priceListFormats,
  readPriceList,
} from '../capabilities/spend/price-lists/index.ts';
import { loadConfig } from '../config/settings.ts';
import { systemClock } from '../platform/time/clock.ts';
import { showUpdate, type UpdateResult } from './price-update-table.ts';
import { readSource } from './read-source.ts';
import { createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { startTemporary } from './temporary-service.ts';
import { print } from './with-database.ts';

/** Exit code if the update succeeded but some changes need an operator's confirmation. */
const pendingExitCode = 2;

export function pricesCommand(): Command {
  const update = new Command('update')
    .description('Show how a price list differs from the model prices, and apply it as new versions.')
    .option(
      '--from <source>',
      'a file, an https URL, or - for standard input (default: the catalog of this release)',
    )
    .addOption(
      new Option('--format <format>', 'format of the list (default: detected)').choices(priceListFormats),
    )
    .option('--dry-run', 'only show the difference')
    .option('--effective-from <time>', 'RFC 3339 time with offset (default: now)')
    .option(
      '--apply-large-changes',
      'also apply changes of more than 50 %, which otherwise wait for an operator',
    )
    .option(
      '--provider <name>',
      `provider to import; repeatable (default: those of the catalog)`,
      (name: string, others: readonly string[] = []) => [...others, name],
    )
    .option('--as-of <date>', 'date of the list, YYYY-MM-DD (default: today)', parseDate)
    .option('--json', 'print the result as JSON')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .addHelpText(
      'after',
      `
Formats: catalog.json of a Purser release, model_prices_and_context_window.json of LiteLLM, api.json of models.dev.
Prices that an operator set are kept.

Exit codes: 0 done, 1 failed and nothing was changed, 2 done and changes wait for an operator.`,
    )
    .action(updatePrices);
  return new Command('prices').description('Update model prices from public price lists.').addCommand(update);
}

interface UpdateOptions {
  readonly from?: string;
  readonly format?: PriceListFormat;
  readonly dryRun?: boolean;
  readonly effectiveFrom?: string;
  readonly applyLargeChanges?: boolean;
  readonly provider?: readonly string[];
  readonly asOf?: string;
  readonly json?: boolean;
  readonly url?: string;
}

async function updatePrices(options: UpdateOptions): Promise<void> {
  const { from = fileURLToPath(catalogFile), format, provider: providers, json = false, url } = options;
  const config = loadConfig();
  const asOf = options.asOf ?? systemClock.now().toISOString().slice(0, 10);
  const text = await readSource(from, config.webhookAllowPrivateNetworks);
  const list = readList(from, text, {
    format,
    asOf,
    providers,
  });
  const shownUrl = serviceUrl(config, url);
  const runs = await isRunning(shownUrl);
  if (!runs && url !== undefined) {
    throw new Error(`no service at ${shownUrl}: start it, or omit --url`);
  }
  const service = runs ? undefined : await startTemporary(config, shownUrl);
  try {
    const result = await createApi(service?.url ?? shownUrl)<UpdateResult>(
      await operatorKey(config),
      'POST',
      '/v1/admin/price-updates',
      {
        catalog: list.catalog,
        ...(list.isPartial && { keep_missing_rates: true }),
        ...(options.dryRun === true && { dry_run: true }),
        ...(options.applyLargeChanges === true && { apply_large_changes: true }),
        ...(options.effectiveFrom !== undefined && { effective_from: options.effectiveFrom }),
      },
    );
    print(
      json
        ? JSON.stringify({ ...result, format: list.format, not_imported: list.skipped })
        : showUpdate(result, list),
    );
    if (result.counts.pending > 0) {
      process.exitCode = pendingExitCode;
    }
  } finally {
    await service?.stop();
  }
}

function readList(from: string, text: string, options: PriceListOptions): PriceList {
  try {
    return readPriceList(text, options);
  } catch (error) {
    if (error instanceof InvalidPriceList) {
      throw new Error(`${from} cannot be imported: ${error.message}`);
    }
    throw error;
  }
}

function parseDate(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) {
    throw new InvalidArgumentError('Must be a date as YYYY-MM-DD.');
  }
  return text;
}
