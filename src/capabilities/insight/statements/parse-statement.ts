/** Turns an uploaded file into the lines of a statement. Throws field errors for a file that is not complete and consistent. */
import { hash } from 'node:crypto';
import { invalidField } from '../../../contract/api-error.ts';
import { readAnthropicPage } from './anthropic-pages.ts';
import { readFocusCsv } from './focus-csv.ts';
import { LineCollector } from './line-collector.ts';
import { readOpenAiPage } from './openai-pages.ts';
import { type At, member, objectAt } from './page-fields.ts';
import {
  type ParsedStatement,
  type ReadPage,
  type StatementLine,
  type StatementSource,
  tokenKinds,
} from './statement-line.ts';

export interface StatementFile {
  readonly pages?: readonly unknown[];
  readonly csv?: string;
}

export function parseStatement({ pages, csv }: StatementFile, now: Date): ParsedStatement {
  if ((pages === undefined) === (csv === undefined)) {
    throw invalidField('pages', 'required', 'Send either `pages` or `csv`.');
  }
  const lines = new LineCollector(now.getTime());
  if (csv !== undefined) {
    const provider = readFocusCsv(csv, lines);
    return lines.finish(provider, 'csv');
  }
  return lines.finish(readPages(pages ?? [], lines), 'pages');
}

/** Reads the pages of one provider, of its costs and its usage. */
function readPages(pages: readonly unknown[], lines: LineCollector): string {
  const seen = new Set<string>();
  const reports = new Map<StatementSource, Report>();
  const emptyLastPages: ReadPage[] = [];
  let provider: string | undefined;
  for (const [index, value] of pages.entries()) {
    const page = objectAt({ value, field: `pages[${index}]` });
    const named = providerOf(page);
    if (provider !== undefined && named !== provider) {
      throw invalidField(page.field, 'invalid_value', 'All pages must be from one provider.');
    }
    provider = named;
    const read = (named === 'openai' ? readOpenAiPage : readAnthropicPage)(page, lines, seen);
    const isLast = member(page, 'has_more').value === false;
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
  return provider ?? '';
}

function providerOf(page: At): 'openai' | 'anthropic' {
  if (member(page, 'object').value === 'page') {
    return 'openai';
  }
  if (Array.isArray(member(page, 'data').value) && typeof member(page, 'has_more').value === 'boolean') {
    return 'anthropic';
  }
  throw invalidField(
    page.field,
    'invalid_value',
    'This is not a page of a cost or usage report that is supported.',
  );
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
    if (hasLastPage) {
      continue;
    }
    const following = unused.findIndex(({ startMs }) => startMs >= endMs);
    if (following === -1) {
      const message = `The last page of ${source} is missing: every page has \`has_more\`.`;
      throw invalidField('pages', 'invalid_value', message);
    }
    unused.splice(following, 1);
  }
  const sources = [...reports.keys()];
  if (sources.length > 0 && !sources.some((source) => source.includes('cost'))) {
    throw invalidField(
      'pages',
      'required',
      'The costs are missing. A usage report has no amounts to compare.',
    );
  }
}

/** Returns a digest of the content that does not depend on the order of its lines. */
export function digestOf({ provider, lines }: Pick<ParsedStatement, 'provider' | 'lines'>): string {
  return hash('sha256', JSON.stringify([provider, lines.map(lineText).sort()]));
}

function lineText({ day, model, project, keyId, kind, tokens, usdNanos }: StatementLine): string {
  return JSON.stringify([
    day,
    model,
    project,
    keyId,
    kind,
    ...tokenKinds.map((one) => `${tokens[one]}`),
    `${usdNanos}`,
  ]);
}
