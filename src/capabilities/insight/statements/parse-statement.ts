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
  const complete = new Map<StatementSource, boolean>();
  let provider: string | undefined;
  for (const [index, value] of pages.entries()) {
    const page = objectAt({ value, field: `pages[${index}]` });
    const named = providerOf(page);
    if (provider !== undefined && named !== provider) {
      throw invalidField(page.field, 'invalid_value', 'All pages must be from one provider.');
    }
    provider = named;
    const source = (named === 'openai' ? readOpenAiPage : readAnthropicPage)(page, lines, seen);
    if (source !== undefined) {
      lines.addSource(source);
      complete.set(source, complete.get(source) === true || member(page, 'has_more').value === false);
    }
  }
  checkComplete(complete);
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

function checkComplete(complete: ReadonlyMap<StatementSource, boolean>): void {
  for (const [source, hasLastPage] of complete) {
    if (!hasLastPage) {
      const message = `The last page of ${source} is missing: every page has \`has_more\`.`;
      throw invalidField('pages', 'invalid_value', message);
    }
  }
  const sources = [...complete.keys()];
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
