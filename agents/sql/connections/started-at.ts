/**
 * The same number for as long as one mysqld runs: both are of the moment in which the statement began, by the clock
 * that the start was noted by.
 */
export const startStatement = `SELECT CAST(UNIX_TIMESTAMP() - VARIABLE_VALUE AS SIGNED) AS startedAt
  FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime'`
