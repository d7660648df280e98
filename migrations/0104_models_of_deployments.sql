-- phase: expand
-- readable-from: 0.1.0
-- The models that deployments have served lately, as their responses name them: a deployment has no price of its own. May be run twice
-- without harm.
CREATE TABLE IF NOT EXISTS gateway_deployment_models (
  org_id text NOT NULL REFERENCES orgs (id),
  connection_id text NOT NULL,
  deployment text NOT NULL,
  model text NOT NULL,
  seen_at timestamptz(3) NOT NULL,
  CONSTRAINT gateway_deployment_models_pkey PRIMARY KEY (org_id, connection_id, deployment, model)
);
