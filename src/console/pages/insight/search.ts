/** The results of the search box: any id, or a part of a name. The only match of an id is opened directly. */
import { card, empty, panel } from '../../components.ts';
import { html, type Markup } from '../../html.ts';
import { subline } from '../../inline.ts';
import { operatorMenu, orgMenu, searchPath } from '../../navigation.ts';
import { openableMenu } from '../../operations.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { findReferences, findResource } from '../../search/find-by-id.ts';
import { findByName } from '../../search/find-by-name.ts';
import { type MatchGroup, type SearchContext, searchContext } from '../../search/search-context.ts';

const longestSearch = 200;

export const searchScreens: readonly Screen[] = [{ path: searchPath, audience: 'everyone', handler: search }];

async function search({ api, org, query, now, credential }: ScreenVisit) {
  const text = (query.get('q') ?? '').trim().slice(0, longestSearch);
  if (text === '') {
    return view({ title: 'Search' })`
${panel(empty('Nothing to search for', 'Enter an ID or a part of a name.'))}`;
  }
  const context = searchContext(api, org, now);
  const resource = await findResource(context, text);
  if (resource !== undefined) {
    return seeOther(resource.href);
  }
  const menu = openableMenu(credential.org === null ? operatorMenu : orgMenu, api, org);
  const [references, byName] = await Promise.all([
    findReferences(context, text),
    findByName(context, menu, text),
  ]);
  const [only] = references;
  if (only !== undefined && references.length === 1 && byName.length === 0) {
    return seeOther(only.href);
  }
  const groups = [...(references.length === 0 ? [] : [{ title: 'ID', matches: references }]), ...byName];
  const hint = html`Check the spelling, or search for a part of the name.
Values of runs are searched in the last 90 days.`;
  return view({ title: 'Search', intro: html`Results for “${text}”.` })`
${groups.length === 0 ? panel(empty('No matches', hint)) : html`<div class="grid">${groups.map(results)}</div>`}
${notSearched(context)}`;
}

function results({ title, matches }: MatchGroup): Markup {
  const item = ({ href, name, note }: MatchGroup['matches'][number]) =>
    html`<li><a href="${href}">${name}</a>${subline(note)}</li>`;
  return card(title, html`<ul class="rows">${matches.map(item)}</ul>`);
}

function notSearched({ missing }: SearchContext): Markup | false {
  return (
    missing.size > 0 &&
    html`<p class="quiet">Not searched, because your API key lacks ${[...missing].sort().map((scope) => html`<code>${scope}</code> `)}</p>`
  );
}
