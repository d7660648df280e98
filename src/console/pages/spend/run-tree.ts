/** The tree of parent and child runs. */
import { milliseconds, usd } from '../../format.ts';
import { html, type Markup, path } from '../../html.ts';
import type { Responses } from '../../responses.ts';
import { adjustedBadge, adjustedCost } from './run-cost.ts';

export type RunResponse = Responses['runs.read'];

/** Runs whose parent is not in the list are roots. */
export function runTree(runs: readonly RunResponse[], currentId: string): Markup {
  const ids = new Set(runs.map(({ id }) => id));
  const children = new Map<string | null, RunResponse[]>();
  for (const run of runs) {
    const parent = run.parent_run_id !== null && ids.has(run.parent_run_id) ? run.parent_run_id : null;
    const siblings = children.get(parent) ?? [];
    siblings.push(run);
    children.set(parent, siblings);
  }
  const branch = (parent: string | null): Markup[] =>
    (children.get(parent) ?? []).map((run) => {
      const below = branch(run.id);
      return html`<li>${node(run, run.id === currentId)}${below.length > 0 && html`<ul>${below}</ul>`}</li>`;
    });
  return html`<ul class="tree">${branch(null)}</ul>`;
}

function node(run: RunResponse, isCurrent: boolean): Markup {
  const name = html`<strong>${run.action ?? 'run'}</strong> ${run.model}`;
  return html`<div class="node${isCurrent && ' here'}">
${isCurrent ? html`<span aria-current="true">${name}</span>` : html`<a href="${path`/console/runs/${run.id}`}">${name}</a>`}
<span class="quiet">${usd(adjustedCost(run) ?? run.held_usd)}${adjustedBadge(run)}</span>
<span class="quiet">${milliseconds(run.latency_ms)}</span>
${run.status !== 'succeeded' && html`<span class="quiet">${run.status}</span>`}</div>`;
}
