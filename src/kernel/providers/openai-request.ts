/** Members that requests of OpenAI have in common. */
import type { RequestFormat } from './call-format.ts';
import { requestedService } from './requested-service.ts';

export const endUserOf: RequestFormat['endUserOf'] = (body) => body.user ?? body.safety_identifier;

export const serviceOf: RequestFormat['serviceOf'] = (body) => requestedService(body.service_tier, undefined);
