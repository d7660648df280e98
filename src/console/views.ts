/** Types of the API's responses that several pages read. */
import type { Item, Responses } from './responses.ts';

export type LimitView = Item<'limits.list'>;
export type LimitUsage = NonNullable<LimitView['standing']>;
export type UsageView = Responses['usage.read'];
export type UsageRow = Item<'usage.read'>;
export type DenialView = Item<'refusals.list'>;
