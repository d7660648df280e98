-- phase: expand
-- readable-from: 0.1.0
-- The models behind deployments of a connection, as its owner states them.

ALTER TABLE connections ADD COLUMN IF NOT EXISTS deployment_models jsonb NOT NULL DEFAULT '{}';
