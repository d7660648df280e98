/**
 * A page whose answer takes long to find is begun before that is there: how far the work is follows step by step, and the
 * answer at the end. It needs no script, and nothing is kept of the work, which lives and ends with the page that shows it.
 */
import { apiError } from '../contract/api-error.ts';
import type { Progress } from '../platform/http/routes/route.ts';
import { count } from './format.ts';
import { html, type Markup } from './html.ts';

/** What is done sooner nobody has looked for: its page comes whole, with a status of its own. */
const patienceMs = 400;
/** Often enough to be seen moving. */
const stepMs = 500;
/** Each takes that much longer than the one before, so that a page stays small however long it takes. */
const slowerBy = 1.05;
/** A step is sent again where there is no other: silence means that the page was cut off, and the stylesheet tells so. */
const silenceMs = 5_000;

export interface Following {
  /** Throws once nobody looks any more, which ends the work. */
  tell(progress: Progress): void;
  /** The latest that was told, as soon as it is another one. */
  otherThan(last: Progress | undefined): Promise<Progress>;
  leave(): void;
}

export function followProgress(): Following {
  let latest: Progress | undefined;
  let isLeft = false;
  let wake = () => {};
  let told = untilTold();

  function untilTold(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }

  return {
    tell(progress) {
      if (isLeft) {
        throw apiError('service_unavailable', 'Nobody waits for this any more.');
      }
      latest = progress;
      wake();
      told = untilTold();
    },
    async otherThan(last) {
      while (latest === undefined || latest === last) {
        await told;
      }
      return latest;
    },
    leave() {
      isLeft = true;
    },
  };
}

/** Undefined: the answer is there, and the page can come whole. */
export function firstStep(answer: Promise<unknown>, following: Following): Promise<Progress | undefined> {
  return Promise.race([
    answer.then(() => undefined),
    pause(patienceMs).then(() => following.otherThan(undefined)),
  ]);
}

function nextStep(answer: Promise<unknown>, following: Following, last: Progress, afterMs: number) {
  return Promise.race([
    answer.then(() => undefined),
    pause(afterMs).then(() => following.otherThan(last)),
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
  shown(answer: Answer): Markup;
}

/** Each step takes the place of the one before, and the answer that of all steps: by the stylesheet alone. */
export async function* untilDone<Answer>(work: LongWork<Answer>): AsyncGenerator<Markup> {
  const { title, first, following, answer, shown } = work;
  let afterMs = stepMs;
  try {
    yield html`<section class="card progress"><h1>${title}</h1>
<p>This takes a while. What comes of it is shown here as soon as it is known.</p>`;
    for (let step: Progress | undefined = first; step !== undefined; ) {
      yield progressStep(step);
      step = await nextStep(answer, following, step, afterMs);
      afterMs = Math.min(silenceMs, afterMs * slowerBy);
    }
    yield html`</section>${shown(await answer)}`;
  } finally {
    following.leave();
  }
}

function progressStep({ done, of, unit }: Progress): Markup {
  const far =
    of === undefined
      ? html`${count(done)} ${unit} so far <progress></progress>`
      : html`${count(done)} of ${count(of)} ${unit} <progress value="${done}" max="${Math.max(1, of)}"></progress>`;
  return html`<div class="step"><label>${far}</label>
<p class="silence">Nothing was heard of it since: it was broken off. Begin anew.</p></div>
`;
}
