/** Types of the API's responses that several pages read: an item of a list, or a whole response. */
import type { Item, Responses } from './responses.ts';

export type KeyResponse = Responses['keys.read'];
export type LimitResponse = Responses['limits.read'];
export type LimitItem = Item<'limits.list'>;
export type LimitItemUsage = NonNullable<LimitItem['standing']>;
export type UsageResponse = Responses['usage.read'];
export type UsageItem = Item<'usage.read'>;
export type UsageSeriesResponse = Responses['usage.series'];
export type DenialItem = Item<'refusals.list'>;
