export { weeklyDigests } from './job.ts';
