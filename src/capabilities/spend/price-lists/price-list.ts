/** Reads a price list in one of the known formats, and returns it as a catalog. */
import { compileBody } from '../../../platform/http/routes/validation.ts';
import { type Catalog, CatalogDocument, catalogModelsMax } from '../models/index.ts';
import { withAliases } from './dated-names.ts';
import { type FieldProblem, isRecordValue } from './fields.ts';
import { litellmModels } from './litellm.ts';
import { modelsDevModels } from './models-dev.ts';
import type { Imported } from './selection.ts';

export const priceListFormats = ['purser', 'litellm', 'models.dev'] as const;
export type PriceListFormat = (typeof priceListFormats)[number];

export interface PriceListOptions {
  /** Format of the list. Default: it is detected. */
  readonly format?: PriceListFormat | undefined;
  /** The date of the figures, `YYYY-MM-DD`: other lists than the catalog have none. */
  readonly asOf: string;
  /** Providers to import; by default those of the catalog, or all of a catalog. */
  readonly providers?: readonly string[] | undefined;
}

export interface PriceList {
  readonly format: PriceListFormat;
  readonly catalog: Catalog;
  readonly skipped: Imported['skipped'];
  /** True if the format lacks some kinds of rates. A missing rate may then still be charged. */
  readonly isPartial: boolean;
}

/** The list cannot be imported. The message lists the invalid entries and fields. */
export class InvalidPriceList extends Error {}

const importers = {
  litellm: {
    read: litellmModels,
    source: { name: 'LiteLLM', url: 'https://github.com/BerriAI/litellm' },
    isPartial: false,
  },
  'models.dev': {
    read: modelsDevModels,
    source: { name: 'models.dev', url: 'https://models.dev' },
    isPartial: true,
  },
} as const;

/** Maximum number of problems in a message. */
const problemsMax = 20;

export function readPriceList(text: string, options: PriceListOptions): PriceList {
  const document = parse(text);
  const format = options.format ?? formatOf(document);
  return format === 'purser' ? catalogOf(document, options) : importedOf(format, document, options);
}

function parse(text: string): Readonly<Record<string, unknown>> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new InvalidPriceList(`it is not complete, valid JSON: ${(error as Error).message}`);
  }
  if (!isRecordValue(document)) {
    throw new InvalidPriceList('it must be a JSON object');
  }
  return document;
}

function formatOf(document: Readonly<Record<string, unknown>>): PriceListFormat {
  if ('schema' in document && 'models' in document) {
    return 'purser';
  }
  const values = Object.values(document).filter(isRecordValue);
  if (values.some((value) => 'litellm_provider' in value)) {
    return 'litellm';
  }
  if (values.some((value) => isRecordValue(value.models))) {
    return 'models.dev';
  }
  throw new InvalidPriceList(`its format is none of ${priceListFormats.join(', ')}`);
}

const schemaVersion = 1;
const validateCatalog = compileBody(CatalogDocument);

function catalogOf(document: Readonly<Record<string, unknown>>, { providers }: PriceListOptions): PriceList {
  const { models, schema } = document;
  if (schema !== schemaVersion) {
    throw new InvalidPriceList(
      `its schema is ${JSON.stringify(schema)}, and this version of Purser reads ${schemaVersion}`,
    );
  }
  const modelAt = (index: string) =>
    Array.isArray(models) ? (models[Number(index)] as { model?: unknown } | null)?.model : undefined;
  requireNone(
    validateCatalog(document).map(({ field, message }) => {
      const [, index = '', rest = ''] = /^models\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
      return index === ''
        ? { entry: '', field, message }
        : { entry: String(modelAt(index) ?? `models[${index}]`), field: rest, message };
    }),
  );
  const catalog = document as unknown as Catalog;
  const chosen = catalog.models.filter(({ provider }) => providers?.includes(provider) ?? true);
  return {
    format: 'purser',
    catalog: { ...catalog, models: bounded(chosen) },
    skipped: { other_provider: catalog.models.length - chosen.length },
    isPartial: false,
  };
}

function importedOf(
  format: Exclude<PriceListFormat, 'purser'>,
  document: Readonly<Record<string, unknown>>,
  { asOf, providers }: PriceListOptions,
): PriceList {
  const { read, source, isPartial } = importers[format];
  const problems: FieldProblem[] = [];
  const { models, skipped } = read(document, asOf, problems, providers);
  requireNone(problems);
  const catalog: Catalog = {
    schema: 1,
    date: asOf,
    sources: { [format]: source },
    models: bounded(withAliases(models)),
  };
  return { format, catalog, skipped, isPartial };
}

function bounded<Model>(models: readonly Model[]): readonly Model[] {
  if (models.length === 0) {
    throw new InvalidPriceList('it has no models of these providers');
  }
  if (models.length > catalogModelsMax) {
    throw new InvalidPriceList(
      `it has ${models.length} models of these providers, and an update takes at most ${catalogModelsMax}: select fewer providers`,
    );
  }
  return models;
}

function requireNone(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) {
    const shown = problems
      .slice(0, problemsMax)
      .map(
        ({ entry, field, message }) =>
          `${[entry, field].filter((part) => part !== '').join(': ')}: ${message}`,
      );
    const more = problems.length > shown.length ? [`and ${problems.length - shown.length} more`] : [];
    throw new InvalidPriceList(['it is not valid:', ...shown, ...more].join('\n        '));
  }
}
