/** The corrections of a run's cost: who made them, when and why. */
import { ApiFailure } from '../../api.ts';
import { card, notice } from '../../components.ts';
import { exactUsd, humanize, time } from '../../format.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { subline } from '../../inline.ts';
import { type Actors, actorLink, actorsById } from '../../names.ts';
import type { Responses } from '../../responses.ts';
import type { ScreenVisit } from '../../screen.ts';
import { table } from '../../table.ts';

const adjustmentsShown = 50;

type Adjustments = Responses['runs.adjustments.list'];

/** Undefined if the run was never corrected. */
export async function adjustmentsCard({ api, org }: ScreenVisit, runId: string): Promise<Markup | undefined> {
  const listed = await api.tryGet<'runs.adjustments.list'>(
    link(path`/v1/runs/${runId}/adjustments`, { limit: String(adjustmentsShown) }),
  );
  if (listed instanceof ApiFailure) {
    return card('Adjustments', notice(listed));
  }
  const { data, next_cursor } = listed;
  if (data.length === 0) {
    return undefined;
  }
  const actorIds = data.flatMap(({ actor }) => actor?.id ?? []);
  const actors = await actorsById(api, org, actorIds);
  return card(
    'Adjustments',
    html`${adjustmentTable(data, actors, org.timezone)}${next_cursor !== null && html`<p class="quiet">The newest ${adjustmentsShown} are shown.</p>`}`,
  );
}

function adjustmentTable(rows: Adjustments['data'], actors: Actors, timezone: string): Markup {
  return table({
    caption: 'Adjustments of this run',
    columns: [
      { title: 'Made', cell: ({ created_at }) => time(created_at, timezone) },
      {
        title: 'By',
        cell: ({ actor }) =>
          actor === null ? '–' : html`${actorLink(actor.id, actors)}${subline(humanize(actor.kind))}`,
      },
      { title: 'Reason', cell: ({ reason }) => reason },
      { title: 'Amount', isNumber: true, cell: ({ amount_usd }) => exactUsd(amount_usd) },
    ],
    rows,
  });
}
