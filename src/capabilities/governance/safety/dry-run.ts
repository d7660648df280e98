/** Runs all or selected detectors of an org on a content, without a run. Disabled detectors are included. */
import { invalidFields } from '../../../contract/api-error.ts';
import { createYielder, type Yielder } from '../../../platform/jobs/yielder.ts';
import { type Detector, matchesOf } from './inspection.ts';
import type { Safety } from './safety.ts';
import { sampleOf } from './sample.ts';
import type { TestContent, TestResult } from './schema.ts';

/** Maximum number of shown matches per detector, unless its threshold is higher. */
const matchesShown = 20;

type TestFinding = TestResult['findings'][number];

export async function testContent(safety: Safety, orgId: string, body: TestContent): Promise<TestResult> {
  const yielder = createYielder();
  const findings: TestFinding[] = [];
  for (const detector of chosen(await safety.detectors(orgId), body.detectors)) {
    const finding = await findingOf(detector, body.content, yielder);
    if (finding.matches.length > 0) {
      findings.push(finding);
    }
  }
  const firing = findings.filter(({ enabled, fires }) => enabled && fires);
  const blocks = firing.some(({ action }) => action === 'block');
  return {
    verdict: blocks ? 'block' : firing.length > 0 ? 'flag' : 'pass',
    content_characters: body.content.length,
    findings,
  };
}

function chosen(all: readonly Detector[], ids: readonly string[] | undefined): readonly Detector[] {
  if (ids === undefined) {
    return all;
  }
  const unknown = ids.flatMap((id, index) => (all.some((one) => one.id === id) ? [] : [index]));
  if (unknown.length > 0) {
    throw invalidFields(
      unknown.map((index) => ({
        field: `detectors[${index}]`,
        code: 'invalid_value',
        message: 'This detector does not exist.',
      })),
    );
  }
  return all.filter(({ id }) => ids.includes(id));
}

async function findingOf(detector: Detector, content: string, yielder: Yielder): Promise<TestFinding> {
  const { id, name, enabled, action, threshold } = detector;
  const matches = await matchesOf(detector, content, Math.max(threshold, matchesShown), yielder);
  return {
    detector: name,
    detector_id: id,
    enabled,
    action,
    fires: matches.length >= threshold,
    matches: matches.map((match) => ({ ...match, sample: sampleOf(content, match) })),
  };
}
