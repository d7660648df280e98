/** Turns an uploaded file into the lines of a statement. Throws field errors for a file that is not complete and consistent. */
import { hash } from 'node:crypto';
import { invalidField } from '../../../contract/api-error.ts';
import type { Sliced } from '../../../platform/sliced-work.ts';
import { LineCollector } from './line-collector.ts';
import { readPages } from './report-pages.ts';
import { readStatementCsv } from './statement-csv.ts';
import { type ParsedStatement, type StatementLine, tokenKinds } from './statement-line.ts';

export interface StatementFile {
  readonly pages?: readonly unknown[];
  readonly csv?: string;
}

export function* parseStatement({ pages, csv }: StatementFile, now: Date): Sliced<ParsedStatement> {
  if ((pages === undefined) === (csv === undefined)) {
    throw invalidField('pages', 'required', 'Send either `pages` or `csv`.');
  }
  const lines = new LineCollector(now.getTime());
  if (csv !== undefined) {
    return lines.finish(yield* readStatementCsv(csv, lines), 'csv');
  }
  return lines.finish(yield* readPages(pages ?? [], lines), 'pages');
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
