/**
 * Every error Regent reports: its stable code, the HTTP status it is answered with, and what to do about it.
 * `docs/errors.md` is made from this table.
 */
export interface CatalogueEntry {
  readonly status: number
  readonly title: string
  readonly remedy: string
}

export const catalogue = {
  REGENT_BAD_NAME: { status: 400, title: 'Not a valid name', remedy: 'Use <cluster>-<ordinal>, for example shop-0; cluster names are lower-case letters, digits and dashes.' },
  REGENT_BAD_GTID_SET: { status: 400, title: 'Not a GTID set', remedy: 'Give it as MySQL prints gtid_executed.' },
  REGENT_BAD_REQUEST: { status: 400, title: 'The request is not valid', remedy: 'The message names the field, its value and what is allowed.' },
  REGENT_BAD_FILE: { status: 400, title: 'A file is not valid', remedy: 'The message names the file, the field and what is allowed.' },
  REGENT_SECRET_LOST: { status: 500, title: 'The secret of all passwords is gone', remedy: 'Put the file back from a copy. Without one: docs/operations.md, "The secret of all passwords".' },
  REGENT_NEWER_VERSION: { status: 409, title: 'Written by a newer Regent', remedy: 'Upgrade this Regent; it never guesses at formats it does not know.' },
  REGENT_UNAUTHORIZED: { status: 401, title: 'No valid token', remedy: 'Send "Authorization: Bearer <token>"; regent local status shows the token file; on Kubernetes it is in Secret regent-api of the managers’ namespace.' },
  REGENT_NOT_FOUND: { status: 404, title: 'No such thing', remedy: 'The message lists what there is.' },
  REGENT_METHOD_NOT_ALLOWED: { status: 405, title: 'The route does not take this method', remedy: 'Use one of the methods in the Allow header.' },
  REGENT_TOO_LARGE: { status: 413, title: 'The request is too large', remedy: 'Send less than the limit the message names.' },
  REGENT_TOO_MANY_REQUESTS: { status: 429, title: 'Too many requests', remedy: 'Wait as long as the Retry-After header says.' },
  REGENT_NOT_LEADER: { status: 503, title: 'This manager does not lead', remedy: 'Ask again shortly or ask another manager.' },
  REGENT_SHUTTING_DOWN: { status: 503, title: 'The manager is stopping', remedy: 'Ask again shortly.' },
  REGENT_INTERNAL: { status: 500, title: 'Something unexpected failed', remedy: 'The log has the details; please report it.' },
  REGENT_SYSTEM: { status: 500, title: 'The operating system refused', remedy: 'The message has its words and names the file or address: look at its permissions, its folder and the space on its disk.' },
  REGENT_REFUSED: { status: 409, title: 'Not possible in the present state', remedy: 'The message says what stands in the way.' },
  REGENT_TIMED_OUT: { status: 504, title: 'It did not end in time', remedy: 'The message says what was undone and what to look at.' },
  REGENT_STALE_ORDER: { status: 409, title: 'The order is older than what the agent stored', remedy: 'Nothing to do: a newer manager or decision is in charge.' },
  REGENT_WRONG_MEMBER: { status: 409, title: 'The order is for another instance or volume', remedy: 'Check which agent listens at that address.' },
  REGENT_ORDER_NOT_ALLOWED: { status: 409, title: 'The order is not allowed in this state', remedy: 'The message names the rule that forbids it.' },
  REGENT_AGENT_UNREACHABLE: { status: 502, title: 'The agent does not answer', remedy: 'Look whether the agent runs and the network lets the manager reach it.' },
  REGENT_API_UNREACHABLE: { status: 502, title: 'The manager cannot be reached', remedy: 'Look whether it runs (regent local status; on Kubernetes kubectl get pods in its namespace) and whether --api, --token-file, REGENT_API, --context or --manager-namespace name the right one.' },
  REGENT_SERVER_TIMEOUT: { status: 504, title: 'MySQL did not answer in time', remedy: 'The message names the statement; look at the server’s process list.' },
  REGENT_SERVER_ERROR: { status: 502, title: 'MySQL refused a statement', remedy: 'The message has the server’s own words.' },
  REGENT_SERVER_DOWN: { status: 502, title: 'MySQL is not running', remedy: 'regent topology says why.' },
  REGENT_STORED_STATE_CORRUPT: { status: 500, title: 'The agent’s own file is damaged', remedy: 'Both copies fail their checksum: give the instance up or restore its volume; never delete the file by hand.' },
  REGENT_BINLOG_UNREADABLE: { status: 500, title: 'A binlog cannot be read', remedy: 'The message names the file; nothing of it is cut: archive the volume, then seed the instance again from a healthy one.' },
  REGENT_STORE_CONFLICT: { status: 409, title: 'Somebody else changed the record first', remedy: 'Nothing to do: the newer record is read and the decision made again.' },
  REGENT_STORE_UNAVAILABLE: { status: 503, title: 'The record cannot be read or written', remedy: 'Bring the store back; primaries stay writable meanwhile.' },
  REGENT_STORE_DAMAGED: { status: 500, title: 'What is stored cannot be used', remedy: 'The message names the object and its cure. Nothing else changes it: a damaged record decides nothing, damaged notes hold nothing up.' },
  REGENT_STORE_UNSAFE: { status: 500, title: 'The store could lose what it confirmed', remedy: 'Configure it as the message says, or accept the risk with --allow-volatile-store of regent manager.' },
  REGENT_MYSQL_MISSING: { status: 500, title: 'No usable mysqld', remedy: 'Install a MySQL server ≥ 8.0.26 or set REGENT_MYSQLD to its path.' },
  REGENT_LAUNCHER_SILENT: { status: 503, title: 'The launcher of mysqld does not answer', remedy: 'It runs in the mysql container of the pod; look why that container does not run. The agent tries again by itself.' },
  REGENT_MYSQL_TOO_OLD: { status: 500, title: 'This MySQL is too old', remedy: 'Use MySQL 8.0.26 or newer.' },
  REGENT_BAD_CERTIFICATE: { status: 500, title: 'A certificate cannot be used', remedy: 'The message names the Secret or folder. Where cert-manager makes it, look at its Certificate; a Secret that Regent makes can be deleted, and is made again.' },
  REGENT_REDIS_MISSING: { status: 500, title: 'No usable redis-server', remedy: 'Install redis-server or set REGENT_REDIS_SERVER to its path.' },
  REGENT_SETUP_FAILED: { status: 500, title: 'What Regent runs on could not be set up', remedy: 'The message says what to install by hand and which variable to set.' },
  REGENT_ALREADY_RUNNING: { status: 409, title: 'It runs already', remedy: 'The message says where.' },
  REGENT_ADDRESS_IN_USE: { status: 409, title: 'An address is taken', remedy: 'The message names the address and the option that changes it.' },
  REGENT_KUBE_API: { status: 502, title: 'The Kubernetes API refused a request', remedy: 'The message has the API server’s own words; for a forbidden verb look at the role that Regent runs with.' },
  REGENT_KUBE_FORBIDDEN: { status: 403, title: 'This user of Kubernetes may not do that', remedy: 'Ask for a Role with what the message names, or use another user (--context, --kubeconfig).' },
  REGENT_KUBE_UNREACHABLE: { status: 502, title: 'The Kubernetes API does not answer', remedy: 'Look whether the API server runs and the network lets this process reach it; primaries stay writable meanwhile.' },
  REGENT_KUBE_CONFIG: { status: 500, title: 'No usable way to the Kubernetes API', remedy: 'Run in a pod with a service account, or name a file that kubectl can use with --kubeconfig or KUBECONFIG, and a context that it has.' },
  REGENT_DEFINITION_OUTDATED: { status: 500, title: 'The custom resource definition is older than this Regent', remedy: 'Run "helm upgrade" with the chart of this Regent’s version: the definition is a part of it.' },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue
