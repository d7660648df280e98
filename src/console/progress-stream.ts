/**
 * Streams a page about a long-running operation: first its progress, step by step, and at the end its result. Works without
 * JavaScript. Nothing is stored: the operation ends with the response that shows it.
 */
import { apiError } from '../contract/api-error.ts';
import type { Progress } from '../platform/http/routes/route.ts';
import { count } from './format.ts';
import { html, type Markup } from './html.ts';

/** Operations that finish sooner are sent as a normal page, with their own status. */
const progressDelayMs = 400;
/** Time between the first two progress updates. */
const firstIntervalMs = 500;
/** Growth factor from one interval to the next, so that the page stays small. */
const intervalGrowth = 1.05;
/** The last update is repeated after this time: without one, the stylesheet shows that the connection was lost. */
const keepAliveMs = 5_000;

export interface Following {
  /** Throws once the visitor has left, which ends the operation. */
  report(progress: Progress): void;
  /** Resolves with the latest progress as soon as it differs from `last`. */
  otherThan(last: Progress | undefined): Promise<Progress>;
  leave(): void;
}

export function followProgress(): Following {
  let latest: Progress | undefined;
  let isLeft = false;
  let wake = () => {};
  let reported = nextReport();

  function nextReport(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }

  return {
    report(progress) {
      if (isLeft) {
        throw apiError('service_unavailable', 'The visitor has left the page.');
      }
      latest = progress;
      wake();
      reported = nextReport();
    },
    async otherThan(last) {
      while (latest === undefined || latest === last) {
        await reported;
      }
      return latest;
    },
    leave() {
      isLeft = true;
    },
  };
}

/**
 * Returns the first progress to show, or undefined if the operation finishes first: its result can then be sent as a
 * normal page.
 */
export function firstStep(answer: Promise<unknown>, following: Following): Promise<Progress | undefined> {
  return Promise.race([
    answer.then(() => undefined),
    pause(progressDelayMs).then(() => following.otherThan(undefined)),
  ]);
}

function nextStep(answer: Promise<unknown>, following: Following, last: Progress, afterMs: number) {
  return Promise.race([
    answer.then(() => undefined),
    pause(afterMs).then(() => following.otherThan(last)),
    pause(keepAliveMs).then(() => last),
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
  shown(answer: Answer): Markup;
}

/**
 * Streams each step of the progress and finally the result. The stylesheet alone hides each step behind the next one,
 * and all steps behind the result.
 */
export async function* untilDone<Answer>(work: LongWork<Answer>): AsyncGenerator<Markup> {
  const { title, first, following, answer, shown } = work;
  let afterMs = firstIntervalMs;
  try {
    yield html`<section class="card progress"><h1>${title}</h1>
<p>Running. The result will appear here.</p>`;
    for (let step: Progress | undefined = first; step !== undefined; ) {
      yield progressStep(step);
      step = await nextStep(answer, following, step, afterMs);
      afterMs = Math.min(keepAliveMs, afterMs * intervalGrowth);
    }
    yield html`</section>${shown(await answer)}`;
  } finally {
    following.leave();
  }
}

function progressStep({ done, of, unit }: Progress): Markup {
  const text =
    of === undefined
      ? html`${count(done)} ${unit} so far <progress></progress>`
      : html`${count(done)} of ${count(of)} ${unit} <progress value="${done}" max="${Math.max(1, of)}"></progress>`;
  return html`<div class="step"><label>${text}</label>
<p class="silence">The connection was lost. Please try again.</p></div>
`;
}
