/**
 * Measures how many names of a LiteLLM list get a price from the catalog, by provider, and how many the rates of the list:
 *
 *   tsx scripts/catalog/measure-coverage.ts FILE [--missing]
 *
 * FILE is `model_prices_and_context_window_backup.json` of the Python package `litellm`. Names without a charge in the list, searches, and
 * names that callers do not send (with the size of an image or the term of a commitment) do not count. `--missing` lists the other names
 * without a price.
 */
import { readFileSync } from 'node:fs';
import { catalogPrices } from './catalog-prices.ts';

interface ListEntry {
  readonly litellm_provider?: string;
  readonly mode?: string;
  readonly input_cost_per_token?: number;
  readonly output_cost_per_token?: number;
}

const [file = '', option] = process.argv.slice(2);
const list = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, ListEntry>>;
const groups = ['azure', 'bedrock', 'fireworks_ai', 'vertex_ai'];
const notSent = /-x-\d|-month-commitment\/|^(together-ai|fireworks-ai)-/;
const findPrice = catalogPrices();
const counts = new Map<string, { names: number; priced: number; equal: number }>();

for (const [name, entry] of Object.entries(list)) {
  const { litellm_provider: listed = '', mode } = entry;
  const provider = groups.find((group) => listed.startsWith(group)) ?? listed;
  if (!isCharged(entry) || mode === 'search' || notSent.test(name)) {
    continue;
  }
  const count = counts.get(provider) ?? { names: 0, priced: 0, equal: 0 };
  counts.set(provider, count);
  const price = findPrice(name);
  count.names += 1;
  count.priced += price === undefined ? 0 : 1;
  count.equal += price !== undefined && hasRates(price, entry) ? 1 : 0;
  if (option === '--missing' && price === undefined) {
    process.stdout.write(`${provider}\t${mode}\t${name}\n`);
  }
}

process.stdout.write('| provider | names | with a price | with the rates of the list |\n|---|---|---|---|\n');
for (const [provider, { names, priced, equal }] of [...counts].sort(([, a], [, b]) => b.names - a.names)) {
  process.stdout.write(`| ${provider} | ${names} | ${share(priced, names)} | ${share(equal, names)} |\n`);
}

function isCharged(entry: ListEntry): boolean {
  return Object.entries(entry).some(([field, value]) => field.includes('cost') && isAmount(value));
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' ? value > 0 : typeof value === 'object' && value !== null;
}

function hasRates(
  { input, output }: { readonly input: number; readonly output: number },
  { input_cost_per_token = 0, output_cost_per_token = 0, mode }: ListEntry,
): boolean {
  const isNear = (one: number, other: number) => Math.abs(one - other * 1e6) < 1e-6;
  // Generated images are output tokens in the catalog, at the rate of image tokens.
  return (
    isNear(input, input_cost_per_token) &&
    (isNear(output, output_cost_per_token) || mode === 'image_generation' || mode === 'image_edit')
  );
}

function share(part: number, of: number): string {
  return `${part} (${((100 * part) / of).toFixed(1)} %)`;
}
