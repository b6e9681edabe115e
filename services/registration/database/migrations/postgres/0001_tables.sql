-- Which node is registered (document 001, Deregistration Failure Handling and
-- Idempotent Error Recovery). A row belongs to one registration: a later one
-- of the node replaces it, an earlier one can't.
CREATE TABLE node_registrations (
    node_id         text        NOT NULL PRIMARY KEY CHECK (node_id <> ''),
    registration_id uuid        NOT NULL,
    deployment_id   text        NOT NULL,
    environment     text        NOT NULL,
    network_id      text        NOT NULL,
    record          jsonb       NOT NULL CHECK (jsonb_typeof(record) = 'object'),
    status          text        NOT NULL CHECK (status IN ('registered', 'deregistered', 'unregistered')),
    -- who heartbeats for the node
    daemon          text        NOT NULL,
    last_heartbeat  timestamptz NOT NULL,
    correlation_id  text        NOT NULL,
    registered_at   timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);

-- What the collector of stale rows looks for.
CREATE INDEX node_registrations_stale ON node_registrations (last_heartbeat);

-- What the collectors removed, a row a batch.
CREATE TABLE registration_gc_log (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_timestamp timestamptz NOT NULL,
    gc_type       text        NOT NULL CHECK (gc_type IN ('postgres', 'consul')),
    nodes_cleaned integer     NOT NULL,
    node_ids      jsonb       NOT NULL
);

-- Since when a service is critical: Consul does not say.
CREATE TABLE service_first_critical (
    service_id      text        NOT NULL,
    registration_id text        NOT NULL,
    first_seen      timestamptz NOT NULL,
    PRIMARY KEY (service_id, registration_id)
);

-- Through which daemon a node was registered.
CREATE TABLE registration_daemons (
    registration_id uuid NOT NULL PRIMARY KEY REFERENCES registration_records,
    daemon          text NOT NULL
);

CREATE INDEX registration_daemons_daemon ON registration_daemons (daemon);

-- Ended registrations whose remains were looked for and are gone.
CREATE TABLE registration_swept (
    registration_id uuid        NOT NULL PRIMARY KEY REFERENCES registration_records,
    swept_at        timestamptz NOT NULL
);

-- The registrations of a node, the last one first; who has a service id; and
-- what may have left something behind.
CREATE INDEX registration_records_node ON registration_records (node_id, registration_id DESC);
CREATE INDEX registration_records_service ON registration_records (consul_service_id) WHERE state <> 'deregistered';
CREATE INDEX registration_records_remains ON registration_records (entered_at)
    WHERE state = 'deregistered' AND (consul_cleanup <> 'removed' OR postgres_cleanup <> 'removed');
