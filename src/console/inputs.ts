/** Parts of forms: labels and hidden inputs. */
import { html, type Markup } from './html.ts';

/** A labeled control of a form that `forms.ts` does not render. `id`: that of the control. */
export function labeled(id: string, label: string, control: Markup): Markup {
  return html`<div class="field"><label for="${id}">${label}</label>${control}</div>`;
}

export const onceField = 'once';

/** The token of one rendered form. */
export function onceInput(once: string): Markup {
  return hiddenInput(onceField, once);
}

/** Returns a hidden field. `autocomplete="off"` keeps browsers from restoring the value of an earlier page. */
export function hiddenInput(name: string, value: string): Markup {
  return html`<input type="hidden" name="${name}" value="${value}" autocomplete="off">`;
}

export function hiddenInputs(values: Readonly<Record<string, string>>): Markup[] {
  return Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}
