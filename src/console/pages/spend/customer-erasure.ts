/** The form that erases a customer. */
import { formScreens } from '../../form-screens.ts';
import { link } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, seeOther } from '../../screen.ts';
import { checkTypedName, typedNameField } from '../../typed-name.ts';

export const customerPath = '/console/customers/of/{customer_id}';
export const erasuresPath = '/console/customers/erased';

export const customerErasureScreens: readonly Screen[] = formScreens({
  path: `${customerPath}/erase`,
  title: 'Erase customer',
  intro:
    'Replaces the customer ID with a random one everywhere, and ends its limits and credit packs. Totals are kept. This cannot be undone.',
  submit: ({ params }) => `Erase customer “${params.customer_id}”`,
  isDestructive: true,
  back: customerPath,
  fields: ({ params }) => [typedNameField(params.customer_id ?? '')],
  check: (body, { params }) => checkTypedName(body, params.customer_id ?? ''),
  call: 'DELETE {org}/customers/{customer_id}',
  send: ({ api, org, params }) =>
    api.send<never>('DELETE', org.path + pathOf('/customers/{customer_id}', params)),
  show: async () => seeOther(link(erasuresPath, { done: 'erasing' })),
});
