/** The detectors that every org has. Their ids are permanent; their accuracy may improve. */
import { findApiKeys } from './api-key.ts';
import { findCreditCards } from './credit-card.ts';
import { findEmails } from './email.ts';
import { findIbans } from './iban.ts';
import { findPhones } from './phone.ts';
import { findPrivateKeys } from './private-key.ts';
import { findPromptInjections } from './prompt-injection.ts';
import type { Finder } from './scanning.ts';

export interface BuiltIn {
  readonly id: string;
  readonly description: string;
  readonly find: Finder;
}

/** In evaluation order for the same action. Detectors of content that is never sent on purpose come first. */
export const builtIns: readonly BuiltIn[] = [
  {
    id: 'private_key',
    description: 'Private keys in PEM, OpenSSH, PGP, PuTTY, age and WireGuard form.',
    find: findPrivateKeys,
  },
  {
    id: 'api_key',
    description: 'API keys and tokens of well-known services, by their prefixes.',
    find: findApiKeys,
  },
  {
    id: 'credit_card',
    description: 'Payment card numbers with a valid check digit.',
    find: findCreditCards,
  },
  { id: 'iban', description: 'International bank account numbers with a valid checksum.', find: findIbans },
  { id: 'email', description: 'E-mail addresses.', find: findEmails },
  {
    id: 'phone',
    description: 'Telephone numbers: international, North American, national with a leading zero.',
    find: findPhones,
  },
  {
    id: 'prompt_injection',
    description: "Well-known phrases that try to override a model's instructions.",
    find: findPromptInjections,
  },
];

export function findBuiltIn(id: string): BuiltIn | undefined {
  return builtIns.find((one) => one.id === id);
}
