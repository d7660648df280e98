export { editorSchema } from './editor-schema.ts';
export { configurationRoutes } from './routes.ts';
export {
  type AppliedConfiguration,
  Configuration,
  type ConfigurationPlan,
  type CreatedSecret,
  configurationVersion,
  type ExportedConfiguration,
  type PlannedChange,
} from './schema.ts';
