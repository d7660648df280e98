/** A new key for calls through the gateway, with a budget, and what to paste into each client. */
import { clientSnippets } from '../../../contract/gateway-clients.ts';
import { ApiFailure } from '../../api.ts';
import { card, secretBox } from '../../components.ts';
import { formScreens } from '../../form-screens.ts';
import { link, path } from '../../html.ts';
import { onceField } from '../../inputs.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { snippetBody } from '../../snippets.ts';
import { developersPath, gatewayPath, newKeyPath } from './gateway-tabs.ts';

type MintResponse = Responses['keys.mint'];
type Budget = Responses['budgets.read'];

interface Entered {
  readonly name?: string;
  readonly member_id?: string;
  readonly budget_usd?: string;
}

export const gatewayKeyScreens: readonly Screen[] = formScreens<'keys.mint'>({
  path: newKeyPath,
  title: 'Create gateway key',
  intro: 'A key for an SDK, Claude Code, Codex or Cursor. It can only make calls through the gateway.',
  submit: 'Create key',
  back: gatewayPath,
  fields: () => [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      required: true,
      placeholder: 'Claude Code of Amy',
    },
    {
      name: 'member_id',
      label: 'Member',
      kind: 'text',
      placeholder: 'amy',
      help: 'The person whose spend it is. Leave blank for the key of a service.',
    },
    {
      name: 'budget_usd',
      label: 'Budget per day',
      kind: 'money',
      placeholder: '20',
      help: 'For all keys of the member, or for this key if there is none. Replaces the daily budget that exists. Leave blank for none.',
    },
  ],
  call: 'POST {org}/keys',
  send: created,
  show: quickstart,
});

async function created(visit: ScreenVisit, entered: Entered): Promise<MintResponse | ApiFailure> {
  const { name, member_id, budget_usd } = entered;
  const { api, org } = visit;
  if (budget_usd !== undefined && member_id !== undefined) {
    // First, so that no key without its budget exists.
    const budget = await setBudget(visit, { scope_kind: 'member', scope_id: member_id }, budget_usd);
    if (budget instanceof ApiFailure) {
      return aboutBudget(budget);
    }
  }
  const key = await api.send<'keys.mint'>(
    'POST',
    `${org.path}/keys`,
    {
      name,
      role: 'member',
      scopes: ['gateway:call'],
      attribution: { member_id: member_id ?? null },
      attribution_locked: member_id === undefined ? [] : ['member_id'],
    },
    onceToken(visit, 'key'),
  );
  if (key instanceof ApiFailure) {
    return key.within('attribution.');
  }
  if (budget_usd !== undefined && member_id === undefined) {
    const budget = await setBudget(visit, { scope_kind: 'key', scope_id: key.id }, budget_usd);
    if (budget instanceof ApiFailure) {
      await api.send('DELETE', org.path + path`/keys/${key.id}`);
      return aboutBudget(budget);
    }
  }
  return key;
}

/** Changes the daily budget of the scope if there is one, so that a second key of a member does not add another. */
async function setBudget(
  visit: ScreenVisit,
  scope: { readonly scope_kind: string; readonly scope_id: string },
  limit_usd: string,
): Promise<Budget | ApiFailure> {
  const { api, org } = visit;
  const budgets = `${org.path}/budgets`;
  const listed = await api.tryGet<'budgets.list'>(link(budgets, { ...scope, period: 'day', limit: '1' }));
  if (listed instanceof ApiFailure) {
    return listed;
  }
  const [existing] = listed.data;
  if (existing !== undefined) {
    return api.send<'budgets.change'>('PATCH', `${budgets}/${existing.id}`, { limit_usd });
  }
  const name = `Gateway: ${scope.scope_id}`.slice(0, 200);
  return api.send<'budgets.create'>(
    'POST',
    budgets,
    { name, ...scope, period: 'day', limit_usd },
    onceToken(visit, 'budget'),
  );
}

/** One form calls several operations, each with an idempotency key of its own: a reload repeats none of them. */
function onceToken({ form }: ScreenVisit, operation: string): string | undefined {
  const token = form.get(onceField);
  return token === null ? undefined : `${token}-${operation}`;
}

/** Field errors of a budget, at the fields of this form. */
function aboutBudget({ status, code, message, details, fields }: ApiFailure): ApiFailure {
  const names: Readonly<Record<string, string>> = { limit_usd: 'budget_usd', scope_id: 'member_id' };
  return new ApiFailure(status, code, message, {
    ...details,
    fields: fields.map((error) => ({ ...error, field: names[error.field] ?? error.field })),
  });
}

/** The only page that shows the secret. */
async function quickstart({ baseUrl }: ScreenVisit, key: MintResponse) {
  return view({ title: 'Gateway key created', intro: key.name })`
${secretBox('Your new gateway key.', key.secret)}
${clientSnippets(baseUrl, key.secret).map((snippet, index) => card(snippet.title, snippetBody(snippet, `snippet-${index}`)))}
<p class="actions"><a class="button" href="${gatewayPath}">Gateway</a> <a class="button" href="${developersPath}">Spend by developer</a></p>`;
}
