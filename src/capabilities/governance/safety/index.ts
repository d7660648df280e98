export { allDetectors, ownDetectorsMax, viewDetector } from './detectors.ts';
export { safetyRoutes } from './routes.ts';
export { createSafety, type Inspected, type Safety } from './safety.ts';
export { CreateDetector, contentCharactersMax } from './schema.ts';
