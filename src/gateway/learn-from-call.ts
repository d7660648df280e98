/** Learns from the usage of a whole response: what later calls of the key and the model need, and how fast the model is. */
import { performance } from 'node:perf_hooks';
import { tokensWithin } from '../kernel/pace.ts';
import type { CallUsage } from '../kernel/providers/call-usage.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { CallAttempts } from './call-attempts.ts';
import type { GatewayContext } from './gateway-context.ts';
import { tierOf } from './plan-call.ts';

/** `hasWaited`: the relay has waited for its client, so that the time says nothing of the model. */
export function learnFromCall(
  context: GatewayContext,
  given: AdmittedRequest,
  { inputTokens, outputTokens }: CallUsage,
  attempts: CallAttempts,
  hasWaited: boolean,
): void {
  const { plan, caller, startedMs } = given;
  const { outputs, durations, ratios } = context;
  const subject = { orgId: caller.tenantId, keyId: caller.keyId, model: plan.model };
  outputs.learn(subject, outputTokens);
  durations.learn(caller.tenantId, plan.model, performance.now() - startedMs);
  if (!plan.input.hasUnseen && plan.input.imageTokens === 0) {
    ratios.learn(subject, plan.input, inputTokens);
  }
  learnPace(context, given, outputTokens, attempts, hasWaited);
}

/** Learns the pace of the model, and notes a call that was faster than its hold assumed. */
function learnPace(
  { paces, paceEvents, metrics }: GatewayContext,
  { plan, admitted, caller }: AdmittedRequest,
  outputTokens: number,
  { connection, elapsedMs }: CallAttempts,
  hasWaited: boolean,
): void {
  if (plan.settings.hold !== 'paced' || connection === undefined) {
    return;
  }
  const subject = {
    orgId: caller.tenantId,
    connectionId: connection.id,
    model: plan.model,
    tier: tierOf(plan.service),
  };
  const assumedTokens = plan.paced && tokensWithin(plan.paced, elapsedMs);
  if (assumedTokens !== undefined && outputTokens > assumedTokens) {
    metrics.paceExceeded();
    paceEvents.exceeded({ ...subject, runId: admitted.runId, outputTokens, assumedTokens, elapsedMs });
  }
  if (!hasWaited) {
    paces.learn(subject, { outputTokens, elapsedMs, answers: plan.call.choices });
  }
}
