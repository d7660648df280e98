/** The order of the test files of a project: files that mostly wait for processes come first, beside files that compute. */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const startsProcesses = /\/test\/(e2e|readme)/;

/**
 * Without it such a file, which is often small, may be the last one of a run, and then the other workers have nothing to do. Within
 * both groups the order is the usual one: the longest file of the last run first or, without an earlier run, the largest.
 */
export class ProcessesFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => {
      const own = sorted.filter((one) => one.project === project);
      const isFirst = ({ moduleId }: TestSpecification) => startsProcesses.test(moduleId);
      return [...own.filter(isFirst), ...own.filter((one) => !isFirst(one))];
    });
  }
}
