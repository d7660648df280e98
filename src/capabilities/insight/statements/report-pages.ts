/** Reads the pages of one provider's reports. A page may also be its `data` alone, or one of its time buckets. */
import { invalidField } from '../../../contract/api-error.ts';
import type { Sliced } from '../../../platform/sliced-work.ts';
import { anthropicReport } from './anthropic-report.ts';
import type { LineCollector } from './line-collector.ts';
import { openAiReport } from './openai-report.ts';
import { type At, itemsAt, member, objectAt, timeAt } from './page-fields.ts';
import type { ReportFormat } from './report-format.ts';
import { isCompared, type StatementSource } from './statement-source.ts';

const formats: readonly ReportFormat[] = [openAiReport, anthropicReport];

/** Adds the lines of the pages, which must be complete, and returns their provider. */
export function* readPages(pages: readonly unknown[], lines: LineCollector): Sliced<string> {
  const seen = new Set<string>();
  const reports = new Map<StatementSource, Report>();
  const emptyLastPages: ReadPage[] = [];
  let format: ReportFormat | undefined;
  for (const [index, value] of pages.entries()) {
    yield;
    const page = objectAt({ value, field: `pages[${index}]` });
    const buckets = bucketsOf(page);
    const found = formatOf(buckets) ?? format;
    if (format !== undefined && found !== format) {
      throw invalidField(page.field, 'invalid_value', 'All pages must be from one provider.');
    }
    format = found;
    const read = found === undefined ? emptyPage : readBuckets(buckets, found, lines, seen);
    const isLast = member(page, 'has_more').value !== true;
    if (read.source !== undefined) {
      lines.addSource(read.source);
      const there = reports.get(read.source);
      reports.set(read.source, {
        hasLastPage: isLast || there?.hasLastPage === true,
        endMs: Math.max(read.endMs, there?.endMs ?? read.endMs),
      });
    } else if (isLast) {
      emptyLastPages.push(read);
    }
  }
  checkComplete(reports, emptyLastPages);
  return format?.provider ?? '';
}

/** Returns the pages in a body that has nothing else. Undefined: it is a request with fields. */
export function barePages(body: object): readonly unknown[] | undefined {
  if (Array.isArray(body)) {
    return body;
  }
  return 'data' in body || 'results' in body ? [body] : undefined;
}

function bucketsOf(page: At): readonly At[] {
  const { value: object = null } = member(page, 'object');
  const data = member(page, 'data');
  if (Array.isArray(data.value) && (object === null || object === 'page')) {
    return itemsAt(data);
  }
  if (Array.isArray(member(page, 'results').value) && (object === null || object === 'bucket')) {
    return [page];
  }
  throw invalidField(
    page.field,
    'invalid_value',
    'This is not a page of a cost or usage report that is supported.',
  );
}

/** Returns undefined for a page without time buckets, which may be of any provider. */
function formatOf([bucket]: readonly At[]): ReportFormat | undefined {
  if (bucket === undefined) {
    return undefined;
  }
  const format = formats.find(({ start }) => member(bucket, start).value !== undefined);
  if (format === undefined) {
    const names = formats.map(({ start }) => `\`${start}\``).join(' or ');
    throw invalidField(bucket.field, 'invalid_value', `A time bucket must have ${names}.`);
  }
  return format;
}

/** A page whose lines were added. */
interface ReadPage {
  /** The report that the page belongs to. Undefined: it has no results. */
  readonly source: StatementSource | undefined;
  /** Start of its first time bucket, and end of its last one. A page without buckets starts after and ends before any time. */
  readonly startMs: number;
  readonly endMs: number;
}

const emptyPage: ReadPage = {
  source: undefined,
  startMs: Number.POSITIVE_INFINITY,
  endMs: Number.NEGATIVE_INFINITY,
};

function readBuckets(
  buckets: readonly At[],
  format: ReportFormat,
  lines: LineCollector,
  seen: Set<string>,
): ReadPage {
  const results = buckets.map((bucket) => itemsAt(member(bucket, 'results')));
  const source = sourceOf(results.flat(), format);
  let { startMs, endMs } = emptyPage;
  // The period is that of the reports that are compared.
  if (source !== undefined && !isCompared(source)) {
    return { source, startMs, endMs };
  }
  for (const [index, bucket] of buckets.entries()) {
    const bucketStartMs = timeAt(member(bucket, format.start));
    const bucketEndMs = timeAt(member(bucket, format.end));
    const day = lines.bucket(bucket.field, bucketStartMs, bucketEndMs);
    startMs = Math.min(startMs, bucketStartMs);
    endMs = Math.max(endMs, bucketEndMs);
    if (source === undefined) {
      continue;
    }
    const name = `${source} ${bucketStartMs}`;
    if (seen.has(name)) {
      throw invalidField(bucket.field, 'invalid_value', 'This time bucket appears twice.');
    }
    seen.add(name);
    for (const result of results[index] ?? []) {
      format.add(source, result, day, lines);
    }
  }
  return { source, startMs, endMs };
}

function sourceOf(results: readonly At[], format: ReportFormat): StatementSource | undefined {
  let source: StatementSource | undefined;
  for (const result of results) {
    const found = format.sourceOf(result);
    if (source !== undefined && source !== found) {
      throw invalidField(result.field, 'invalid_value', 'A page has results of one report only.');
    }
    source = found;
  }
  return source;
}

interface Report {
  readonly hasLastPage: boolean;
  /** End of the last time bucket. */
  readonly endMs: number;
}

/** A last page without results does not name its report: it belongs to one whose time buckets it continues. */
function checkComplete(
  reports: ReadonlyMap<StatementSource, Report>,
  emptyLastPages: readonly ReadPage[],
): void {
  const unused = [...emptyLastPages];
  for (const [source, { hasLastPage, endMs }] of reports) {
    if (hasLastPage || !isCompared(source)) {
      continue;
    }
    const following = unused.findIndex(({ startMs }) => startMs >= endMs);
    if (following === -1) {
      const message = `The last page of ${source} is missing: every page has \`has_more\`.`;
      throw invalidField('pages', 'invalid_value', message);
    }
    unused.splice(following, 1);
  }
}
