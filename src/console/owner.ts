/** Whom to ask about a limit or rule. */
import { type Api, ApiFailure } from './api.ts';
import type { Field } from './forms.ts';
import { html, link, type Part } from './html.ts';
import type { VisitedOrg } from './screen.ts';

export const ownerField: Field = {
  name: 'owner',
  label: 'Owner',
  kind: 'text',
  whenEmpty: 'null',
  help: 'Whom to ask about it, such as an email address or a channel. Shown with the requests it blocks.',
  placeholder: 'finance@example.com',
};

/** The contact, as a link if it is an e-mail address or a web page. */
export function contactLink(contact: string): Part {
  if (/^[^\s@,]+@[^\s@,]+\.[^\s@,]+$/.test(contact)) {
    return html`<a href="mailto:${encodeURIComponent(contact).replace('%40', '@')}">${contact}</a>`;
  }
  return /^https:\/\/\S+$/.test(contact)
    ? html`<a href="${contact}" rel="noreferrer">${contact}</a>`
    : contact;
}

const adminsShown = 5;

/** The admins and owners of the organization, for limits without an owner; empty if the visitor may not list members. */
export async function adminContacts(api: Api, org: VisitedOrg): Promise<readonly string[]> {
  const roles = await Promise.all(
    ['admin', 'owner'].map((role) =>
      api.tryGet<'members.list'>(
        link(`${org.path}/members`, { role, status: 'active', limit: String(adminsShown) }),
      ),
    ),
  );
  return roles
    .flatMap((listed) => (listed instanceof ApiFailure ? [] : listed.data))
    .map(({ email, name }) => email ?? name)
    .slice(0, adminsShown);
}
