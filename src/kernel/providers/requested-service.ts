/** The service that a request asks for: it selects the rates. */
import { isServiceWord } from './call-usage.ts';

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
