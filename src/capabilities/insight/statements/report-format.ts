/** The shape of a provider's reports of cost and usage: time buckets with results. */
import type { LineCollector } from './line-collector.ts';
import type { At } from './page-fields.ts';
import type { StatementSource } from './statement-source.ts';

export interface ReportFormat {
  readonly provider: string;
  /** The fields of a time bucket that have its times. */
  readonly start: string;
  readonly end: string;
  /** Returns the report that a result belongs to. */
  sourceOf(result: At): StatementSource;
  /** Adds the line of a result of a report whose lines are compared. */
  add(source: StatementSource, result: At, day: string, lines: LineCollector): void;
}
