export { type RotationStep, rotateStep } from './rotation.ts';
export { keyRotationRoutes } from './routes.ts';
