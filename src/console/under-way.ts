/**
 * A page whose answer takes long to find is begun before that is there: how far the work is follows step by step, and the
 * answer at the end. It needs no script, and nothing is kept of the work, which lives and ends with the page that shows it.
 */
import type { Progress } from '../platform/http/route.ts';
import { count } from './format.ts';
import { type Html, html } from './html.ts';

/** What is done sooner nobody has looked for: its page comes whole, with a status of its own. */
const patienceMs = 400;
/** Often enough to be seen moving, seldom enough for the page to stay small. */
const stepMs = 500;
/** A step is sent again where there is no other: silence means that the page was cut off, and the stylesheet tells so. */
const silenceMs = 5_000;

export interface Following {
  tell(progress: Progress): void;
  /** The latest that was told; if it was asked for before, the next one. */
  next(): Promise<Progress>;
}

export function followProgress(): Following {
  let latest: Progress | undefined;
  let wake = () => {};
  return {
    tell(progress) {
      latest = progress;
      wake();
    },
    async next() {
      while (latest === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const told = latest;
      latest = undefined;
      return told;
    },
  };
}

/** Undefined: the answer is there, and the page can come whole. */
export function firstStep(answer: Promise<unknown>, following: Following): Promise<Progress | undefined> {
  return Promise.race([answer.then(() => undefined), pause(patienceMs).then(() => following.next())]);
}

function nextStep(answer: Promise<unknown>, following: Following, last: Progress) {
  return Promise.race([
    answer.then(() => undefined),
    pause(stepMs).then(() => following.next()),
    pause(silenceMs).then(() => last),
  ]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

export interface LongWork<Answer> {
  readonly title: string;
  readonly first: Progress;
  readonly following: Following;
  readonly answer: Promise<Answer>;
  shown(answer: Answer): Html;
}

/** Each step takes the place of the one before, and the answer that of all steps: by the stylesheet alone. */
export async function* untilDone<Answer>(work: LongWork<Answer>): AsyncGenerator<Html> {
  const { title, first, following, answer, shown } = work;
  yield html`<section class="card progress"><h1>${title}</h1>
<p>This takes a while. What comes of it is shown here as soon as it is known.</p>`;
  for (let step: Progress | undefined = first; step !== undefined; ) {
    yield progressStep(step);
    step = await nextStep(answer, following, step);
  }
  yield html`</section>${shown(await answer)}`;
}

function progressStep({ done, of, unit }: Progress): Html {
  return html`<div class="step"><label>${count(done)} of ${count(of)} ${unit} <progress value="${done}" max="${Math.max(1, of)}"></progress></label>
<p class="silence">Nothing was heard of it since: it was broken off, and nothing came of it. Begin anew.</p></div>
`;
}
