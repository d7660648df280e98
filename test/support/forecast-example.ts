/**
 * Half a year of a deployment that teams joined one after the other, for the chart in the guide and for the test of
 * that chart.
 */
import { normal, seededRandom } from './series.ts';

export interface ExampleWeek {
  readonly teams: number;
  readonly valueUsd: number;
  readonly costUsd: number;
}

const costPerTeamUsd = 90;

/**
 * Returns weeks with two to fourteen teams. The first teams have the best uses: all teams together are worth at most
 * $4,000 a week.
 */
export function exampleWeeks(): ExampleWeek[] {
  const random = seededRandom(11);
  return Array.from({ length: 26 }, (_, week) => {
    const teams = 2 + Math.floor(week / 2);
    const worth = 4_000 * (1 - Math.exp(-teams / 9)) * Math.exp(0.05 * normal(random));
    // Rounded to whole cents per team, so that the recorded values add up to exactly this value.
    const valueUsd = (Math.round((worth / teams) * 100) / 100) * teams;
    return { teams, valueUsd: Math.round(valueUsd * 100) / 100, costUsd: costPerTeamUsd * teams };
  });
}
