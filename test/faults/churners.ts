/**
 * Clients that take holds on a cap which fits few of them, and void each. They observe the cap from outside and at every moment:
 * a client counts a hold from its acknowledgement until the client asks for its end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { nanos, type SpendingOrg, spending } from '../support/money.ts';
import { type Patience, patientClients, retryAfterMs } from '../support/patient-clients.ts';
import type { ServiceProcess } from '../support/service-process.ts';

export const fits = 4;
const holdUsd = nanos('1');
export const churnCap = formatUsd(holdUsd * BigInt(fits) + holdUsd / 2n);

export interface Churners extends Patience {
  /** Acknowledged holds whose end was not requested. */
  readonly open: ReadonlySet<string>;
  readonly ended: ReadonlySet<string>;
  /** Number of times that more holds were open than the cap fits. */
  overspent(): number;
  effects(): number;
  denials(): number;
}

export function startChurners(
  org: SpendingOrg,
  clients: number,
  services: () => readonly ServiceProcess[],
): Churners {
  const open = new Set<string>();
  const ended = new Set<string>();
  let names = 0;
  let overspent = 0;
  let effects = 0;
  let denials = 0;
  const patient = patientClients(services, { tolerant: true });

  patient.start(clients, async (client) => {
    const key = `churn ${names++}`;
    const body = { estimated_cost_usd: formatUsd(holdUsd), expires_in_seconds: 3_600 };
    const decided = await patient.send(client, (service) => spending(service, org).decide(body, key));
    if (decided.status === 402) {
      denials += 1;
      await pause(retryAfterMs);
      return;
    }
    expect(decided.status, decided.text).toBe(200);
    const id: string = decided.json.decision_id;
    effects += 1;
    open.add(id);
    overspent += open.size > fits ? 1 : 0;
    const voided = await patient.send(client, (service) => {
      open.delete(id);
      return spending(service, org).void(id, `void ${key}`);
    });
    expect(voided.status, voided.text).toBe(204);
    effects += 1;
    ended.add(id);
  });

  return {
    ...patient,
    open,
    ended,
    overspent: () => overspent,
    effects: () => effects,
    denials: () => denials,
  };
}
