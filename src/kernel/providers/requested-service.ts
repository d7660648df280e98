/** The service that a request asks for: it selects the rates. */
import { isServiceWord } from './call-usage.ts';
import type { Fields } from './fields.ts';

export interface RequestedService {
  readonly service_tier?: string;
  readonly region?: string;
}

/** The service that requests get if they ask for no other. */
export const usualService: RequestedService = {};

export function requestedService(tier: unknown, region: unknown): RequestedService {
  if (tier == null && region == null) {
    return usualService;
  }
  return {
    ...(isServiceWord(tier) && { service_tier: tier }),
    ...(isServiceWord(region) && { region }),
  };
}

/** A member with which a request must not be sent. */
export interface RefusedMember {
  readonly name: string;
  /** The end of a sentence about it. */
  readonly rule: string;
}

/** Returns the tier of a request if it is not one text: providers differ in what they read then. */
export function refusedTier(body: Fields): RefusedMember | undefined {
  const { service_tier: tier, serviceTier: camelTier } = body;
  if (tier != null && typeof tier !== 'string') {
    return { name: 'service_tier', rule: 'must be a string' };
  }
  if (camelTier != null && typeof camelTier !== 'string') {
    return { name: 'serviceTier', rule: 'must be a string' };
  }
  return tier != null && camelTier != null
    ? { name: 'serviceTier', rule: 'is given in two spellings' }
    : undefined;
}
