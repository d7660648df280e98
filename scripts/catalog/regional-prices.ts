/** What clouds charge more for calls that stay in a region. Public price lists do not have it. */
import type { CatalogModel } from '../../src/capabilities/spend/models/catalog.ts';

/** Models of Anthropic at Vertex AI from Claude Sonnet 4.5 on: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai */
const claudeAtVertex = /^vertex_ai\/claude-(?!3|(sonnet|opus)-4(-1)?$)/;

export function withRegionalPrices(one: CatalogModel): CatalogModel {
  return claudeAtVertex.test(one.model) ? { ...one, regions: { ...one.regions, regional: '1.1' } } : one;
}
