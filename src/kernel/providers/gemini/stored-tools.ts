/** The tools of cached content, which requests name without saying what is in it. */
import type { ToolFormat } from '../call-format.ts';

export const storedAtGoogle: NonNullable<ToolFormat['stored']> = {
  names: ['cachedContent', 'cached_content'],
  types: ['google_search', 'google_maps', 'enterprise_web_search', 'retrieval'],
};
