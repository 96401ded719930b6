-- The table of config/go-test-events.yaml, for Apache Doris.
CREATE DATABASE IF NOT EXISTS ci;

CREATE TABLE IF NOT EXISTS ci.go_test_events (
    `time`    DATETIME(6)  NOT NULL,
    `action`  VARCHAR(16)  NOT NULL,
    `package` VARCHAR(512) NULL,
    `test`    VARCHAR(1024) NULL,
    `elapsed` DOUBLE       NULL,
    `output`  STRING       NULL
)
DUPLICATE KEY(`time`)
DISTRIBUTED BY HASH(`time`) BUCKETS 4
PROPERTIES ("replication_num" = "1");
